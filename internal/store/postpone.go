package store

import (
	"context"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// postponeSQL moves a running timer and stores why a PENDING refund waits.
const postponeSQL = `UPDATE refunds r SET next_action_at = coalesce($4, clock_timestamp() + $6::interval), updated_at = clock_timestamp(),
    pending_reason = CASE WHEN r.state = 'PENDING' THEN coalesce($5, r.pending_reason) END
  WHERE r.tenant_id = $1 AND r.rid = $2 AND r.generation = $3 AND r.next_action_at IS NOT NULL`

// Reschedule moves the timer of a waiting refund to st.Until; zero means refund.HandoutTTL from now. Errors: ErrNotOwner, ErrBusy,
// ErrUnavailable.
func (s *Store) Reschedule(ctx context.Context, k refund.RefundRef, generation int, st refund.Step) error {
	fault.Point(fault.PostponeBefore)
	tag, err := s.pool.Exec(ctx, postponeSQL, int64(k.Tenant), [16]byte(k.RID), generation, pg.NullTime(st.Until), pg.Null(string(st.Why)), refund.HandoutTTL)
	if err != nil {
		return pg.Translate(err)
	}
	fault.Point(fault.PostponeCommitted)
	return pg.OneRow(tag.RowsAffected(), "postpone")
}
