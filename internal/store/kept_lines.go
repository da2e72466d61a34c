package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

const (
	keepLinesSQL = `INSERT INTO kept_lines (tenant_id, payment_id, source, complete, lines, why) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT ON CONSTRAINT kept_lines_pk DO UPDATE SET source = excluded.source, complete = excluded.complete, lines = excluded.lines,
      why = excluded.why, kept_at = now(), tried_at = now(), tries = kept_lines.tries + 1`
	// dueLinesSQL takes lines that were last tried $1 ago or earlier. The next pass finds other ones.
	dueLinesSQL = `UPDATE kept_lines k SET tried_at = now() WHERE (k.tenant_id, k.payment_id) IN (
      SELECT d.tenant_id, d.payment_id FROM kept_lines d WHERE d.tried_at <= now() - $1::interval
      ORDER BY d.tried_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING k.tenant_id, k.payment_id, k.source, k.complete, k.lines, k.kept_at, (SELECT p.account FROM payments p
      WHERE (p.tenant_id, p.payment_id) = (k.tenant_id, k.payment_id))`
	enteredLinesSQL = `DELETE FROM kept_lines WHERE tenant_id = $1 AND payment_id = $2 AND kept_at = $3`
)

// keptLinesPause is the time between two tries of kept lines: only another version, or another fact, makes a difference.
const keptLinesPause = time.Hour

// keptLinesBatch is how many payments' kept lines one pass of the sweep tries.
const keptLinesBatch = 20

// keptLines are lines that a guard refused.
type keptLines struct {
	tenant            refund.TenantID
	paymentID, source string
	lines             []refund.ListedEffect
	complete          bool
	account           string
	keptAt            time.Time
}

// keepLines stores lines that cannot be entered. It returns ErrLinesKept with the cause. Errors: ErrUnavailable.
func (s *Store) keepLines(ctx context.Context, k keptLines, cause error) error {
	text, err := json.Marshal(k.lines)
	if err != nil {
		return errors.Join(cause, err)
	}
	s.log.ErrorContext(ctx, "lines of a payment cannot be entered; they are kept for later", "payment", k.paymentID, "lines", len(k.lines),
		"guard", guardOf(cause), "error", cause.Error())
	if s.cfg.FactRefused != nil {
		s.cfg.FactRefused(guardOf(cause))
	}
	if _, err := s.pool.Exec(ctx, keepLinesSQL, int64(k.tenant), k.paymentID, k.source, k.complete, []byte(strings.ReplaceAll(string(text), `\u0000`, `\ufffd`)), guardOf(cause)); err != nil {
		return pg.Translate(err)
	}
	return fmt.Errorf("%w: %w", refund.ErrLinesKept, cause)
}

// sweepKeptLines tries kept lines again. Lines that are refused again stay kept. Errors: ErrUnavailable.
func (s *Store) sweepKeptLines(ctx context.Context) error {
	rows, err := s.pool.Query(ctx, dueLinesSQL, keptLinesPause, keptLinesBatch)
	if err != nil {
		return pg.Translate(err)
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k keptLines, err error) {
		var tenant int64
		var lines []byte
		if err := row.Scan(&tenant, &k.paymentID, &k.source, &k.complete, &lines, &k.keptAt, &k.account); err != nil {
			return k, err
		}
		k.tenant = refund.TenantID(tenant)
		return k, json.Unmarshal(lines, &k.lines)
	})
	if err != nil {
		return pg.Translate(err)
	}
	for _, k := range due {
		c, known := s.contractOf(k.account, k.tenant)
		if !known {
			continue // another process knows the account
		}
		err := s.EnterLines(ctx, k.tenant, k.paymentID, k.source, k.lines, k.complete, c)
		if err == nil {
			_, err = s.pool.Exec(ctx, enteredLinesSQL, int64(k.tenant), k.paymentID, k.keptAt)
			err = pg.Translate(err)
		}
		switch {
		case errors.Is(err, refund.ErrUnavailable):
			return err
		case err != nil && !errors.Is(err, refund.ErrLinesKept) && !errors.Is(err, refund.ErrBusy): // the others go on
			s.log.ErrorContext(ctx, "kept lines were not entered", "payment", k.paymentID, "error", err)
		}
	}
	return nil
}
