package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// OpenCase opens a case on a refund in any state, at the wish of a person with evidence (see refund.ValidEvidence). by is the actor's name. If a
// case is open already, it is returned, and nothing is stored. Errors: refund.ErrBadData (the evidence), ErrNoChannel, ErrNotFound, ErrBusy,
// ErrUnavailable.
func (s *Store) OpenCase(ctx context.Context, k refund.RefundRef, evidence, by string) (id refund.RID, opened bool, err error) {
	if !refund.ValidEvidence(evidence) {
		return id, false, refund.ErrBadData
	}
	text, err := json.Marshal(map[string]string{"text": evidence, "actor": by})
	if err != nil {
		return id, false, err
	}
	f := refund.Fact{Kind: refund.ReviewRequested, Source: "person", Actor: "actor:" + by, Evidence: text}
	u := s.newUnit()
	err = u.run(ctx, "review of "+k.RID.String(), func() error {
		return s.withRecord(ctx, u, k, func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
			if r.Case != nil {
				id = r.Case.ID
				return nil // opened may be true: an earlier run went through
			}
			c, known := s.contractOf(r.Account, r.Tenant)
			if !known {
				return refund.ErrNoChannel
			}
			ch, changed, err := refund.RequestReview(r, f.Actor, c)
			if err != nil || !changed {
				return err
			}
			if err := s.writeChange(ctx, u, tx, &ch, f); err != nil {
				return err
			}
			id, opened = ch.After.Case.ID, true
			return nil
		})
	})
	return id, opened && err == nil, err
}
