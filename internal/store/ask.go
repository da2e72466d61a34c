package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// askSQL writes the attempt row of a query or list without ownership: it cannot move money, so it takes no lease and no generation. $1
// tenant, $2 rid, $3 dispatch, $4 kind, $5 send window, $6 contract version, $7 request digest.
const askSQL = `WITH asked AS (
    UPDATE refunds r SET attempt_no = r.attempt_no + 1
    WHERE r.tenant_id = $1 AND r.rid = $2 AND EXISTS (SELECT FROM dispatches d WHERE d.tenant_id = $1 AND d.rid = $2 AND d.no = $3)
    RETURNING r.tenant_id, r.rid, r.attempt_no, r.generation, (SELECT epoch FROM installation) AS epoch, clock_timestamp() AS at
  )
  INSERT INTO attempts (tenant_id, rid, no, epoch, dispatch_no, kind, generation, contract_version, request_digest, started_at, not_after)
  SELECT tenant_id, rid, attempt_no, epoch, $3, $4, generation, $6, $7, at, at + $5::interval FROM asked
  RETURNING no, epoch, generation, started_at, not_after`

// Ask writes the attempt of a query or list outside ownership: for refunds in a final state, and for a check that a person asks for. It
// uses the claim's key, kind, dispatch, contract, send window and request. Errors: ErrNotFound, ErrBusy, ErrUnavailable.
func (s *Store) Ask(ctx context.Context, c refund.Claim) (refund.Claimed, error) {
	if c.Kind != refund.AttemptQuery && c.Kind != refund.AttemptList {
		return refund.Claimed{}, fmt.Errorf("store: %s is neither a query nor a list", c.Kind)
	}
	fault.Point(fault.AskBefore)
	out := refund.Claimed{Attempt: refund.Attempt{DispatchNo: c.Dispatch, Kind: c.Kind, ContractVersion: c.Contract.Version}}
	row := s.pool.QueryRow(ctx, askSQL, int64(c.Tenant), [16]byte(c.RID), c.Dispatch, string(c.Kind), c.SendWindow, c.Contract.Version,
		emptyIfNil(c.RequestDigest))
	err := row.Scan(&out.No, &out.Epoch, &out.Generation, &out.StartedAt, &out.NotAfter)
	if errors.Is(err, pgx.ErrNoRows) {
		return refund.Claimed{}, fmt.Errorf("%w: dispatch %d of %s", refund.ErrNotFound, c.Dispatch, c.RID)
	}
	if err != nil {
		return refund.Claimed{}, pg.Translate(err)
	}
	fault.Point(fault.AskCommitted)
	out.Send = out.NotAfter.Sub(out.StartedAt)
	return out, nil
}
