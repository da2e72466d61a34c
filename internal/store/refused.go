package store

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// keepAnswerSQL completes an attempt when the change that its answer would make was refused. The refund's row is not touched.
const keepAnswerSQL = `UPDATE attempts SET answered_at = now(), answer = 'UNKNOWN', rule = $4, late = true, evidence = $5
  WHERE tenant_id = $1 AND rid = $2 AND no = $3 AND answer IS NULL`

// ruleRefused is the rule of an answer that a guard refused.
const ruleRefused = "guard.refused"

// refusedByGuard reports whether an error means that this fact will never be accepted as it is: a guard has refused it, or the error has no
// class, which only a bug of ours can cause.
func refusedByGuard(err error) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), contradicting(err) != nil:
		return false
	case errors.Is(err, refund.ErrBadData):
		return true
	}
	for _, class := range []error{refund.ErrUnavailable, refund.ErrCommitUnknown, refund.ErrNotOwner, refund.ErrNotFound, refund.ErrBusy,
		refund.ErrTooEarly, refund.ErrNoChannel, refund.ErrOverloaded} {
		if errors.Is(err, class) {
			return false
		}
	}
	return true
}

// guardOf is the name of the guard that refused a fact.
func guardOf(err error) string {
	var g *refund.GuardError
	if errors.As(err, &g) {
		return bounded(g.Guard, longestCode)
	}
	return "unclassified"
}

// keepRefused keeps a fact of the channel that a guard has refused, so that nothing the channel said is lost: a contradiction case, then
// the answer as UNKNOWN with what it said in the evidence. Where the table refuses even that, only the attempt's row is written. Errors:
// ErrNotFound, ErrBusy, ErrUnavailable.
func (s *Store) keepRefused(ctx context.Context, k refund.RefundRef, f refund.Fact, c refund.Contract, cause error) (refund.Change, error) {
	s.refused(ctx, k, f, cause)
	f.Evidence = refusedEvidence(f, cause)
	if err := s.caseOfRefused(ctx, k, f); err != nil {
		return refund.Change{}, err
	}
	if f.Attempt == 0 {
		return refund.Change{Known: true}, nil
	}
	kept := f
	kept.Kind, kept.Rule, kept.ChannelRefundID, kept.Amount, kept.Currency, kept.Voucher, kept.Names =
		refund.Unknown, ruleRefused, "", 0, "", nil, refund.Names{}
	ch, err := s.enter(ctx, k, kept, c)
	if !refusedByGuard(err) {
		return ch, err
	}
	err = pg.Rerun(ctx, s.log, "refused answer of "+k.RID.String(), func() error {
		return pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, keepAnswerSQL, int64(k.Tenant), [16]byte(k.RID), f.Attempt, ruleRefused, f.Evidence)
			return err
		})
	})
	return refund.Change{Known: true}, err
}

// caseOfRefused opens the contradiction case. A guard that refuses this, too, is logged: the evidence must be kept all the same.
func (s *Store) caseOfRefused(ctx context.Context, k refund.RefundRef, f refund.Fact) error {
	err := s.contradict(ctx, []refund.RefundRef{k}, f)
	if refusedByGuard(err) {
		s.log.ErrorContext(ctx, "a guard refused the case of a refused fact; a person must look at the refund", "rid", k.RID.String(),
			"guard", guardOf(err), "error", err.Error())
		return nil
	}
	return err
}

func (s *Store) refused(ctx context.Context, k refund.RefundRef, f refund.Fact, cause error) {
	guard := guardOf(cause)
	s.log.ErrorContext(ctx, "a guard refused a fact of the channel; it is kept as evidence", "rid", k.RID.String(), "fact", string(f.Kind),
		"source", f.Source, "attempt", f.Attempt, "guard", guard, "error", cause.Error())
	if s.cfg.FactRefused != nil {
		s.cfg.FactRefused(guard)
	}
}

// refusedEvidence is the fact's evidence with what the fact would have said and the guard that refused it, in a form that the column takes.
func refusedEvidence(f refund.Fact, cause error) json.RawMessage {
	said := map[string]any{"kind": string(f.Kind), "channelRefundId": f.ChannelRefundID, "amount": f.Amount, "currency": string(f.Currency)}
	doc, err := json.Marshal(map[string]any{"guard": guardOf(cause), "said": said, "seen": f.Evidence})
	if err != nil || len(doc) > longestEvidence {
		doc, _ = json.Marshal(map[string]any{"guard": guardOf(cause), "said": said, "cut": clean(string(f.Evidence[:min(len(f.Evidence), longestEvidence/8)]))}) //nolint:errchkjson // texts and a number
	}
	return evidence(refund.Fact{Evidence: doc, Code: f.Code, RetryAfter: f.RetryAfter})
}

// keepRefusedNotice keeps a notice whose fact a guard has refused: its refund gets the case, and the notice is stored as its own.
func (s *Store) keepRefusedNotice(ctx context.Context, account string, n refund.KeptNotice, cause error) (refund.NoticeOutcome, error) {
	target, err := s.noticeTarget(ctx, account, n)
	if err != nil || target == nil {
		return "", errors.Join(cause, err)
	}
	f := noticeEvidence(n.Notice)
	f.Kind = n.Status
	s.refused(ctx, target.RefundRef, f, cause)
	if err := s.caseOfRefused(ctx, target.RefundRef, f); err != nil {
		return "", err
	}
	err = pg.Rerun(ctx, s.log, "refused notice of account "+account, func() error {
		return pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
			_, tied, err := keepNotice(ctx, tx, account, n, &target.RefundRef)
			if err == nil && !tied {
				_, err = tieNotice(ctx, tx, account, n.Digest, target.RefundRef)
			}
			return err
		})
	})
	return refund.NoticeContradicts, err
}
