package store

import (
	"context"
	"errors"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// unit is a unit of work on refunds: one transaction and its reruns after lost COMMITs. It collects the refunds that the transaction makes
// final, and reports each to Config.RefundEnded once, after COMMIT.
type unit struct {
	s       *Store
	written []ending // by the run under way
	unsure  []ending // by runs whose COMMIT was not answered
}

// ending is a refund that a change has made final.
type ending struct {
	ref   refund.RefundRef
	state refund.State
	at    time.Time
	took  time.Duration
}

func (s *Store) newUnit() *unit { return &unit{s: s} }

// run runs once, again after a lost COMMIT (see pg.Rerun), and reports what it has made final. what names the transaction in the log.
func (u *unit) run(ctx context.Context, what string, once func() error) error {
	err := u.s.rerun(ctx, what, func() error {
		err := once()
		if err != nil {
			u.failed(err)
		}
		return err
	})
	if err == nil {
		u.committed()
	}
	return err
}

// failed forgets what a run has written. If its COMMIT was not answered, a later run may find it.
func (u *unit) failed(err error) {
	if errors.Is(err, refund.ErrCommitUnknown) {
		u.unsure = append(u.unsure, u.written...)
	}
	u.written = nil
}

// committed reports the refunds that the committed run has made final, or has found final by an earlier run of this unit.
func (u *unit) committed() {
	if u.s.cfg.RefundEnded != nil {
		for _, e := range u.written {
			u.s.cfg.RefundEnded(e.state, e.took)
		}
	}
	u.written = nil
}

// changed notes a change that makes its refund final for the first time.
func (u *unit) changed(ch *refund.Change) {
	if ch.Before.State.Final() {
		return
	}
	for _, step := range ch.Steps {
		if r := step.Row; r.State.Final() {
			u.written = append(u.written, ending{ref: ch.Before.RefundRef, state: r.State, at: r.FinalAt, took: r.FinalAt.Sub(ch.Before.CreatedAt)})
			return
		}
	}
}

// found compares a refund, as read under its lock, with what earlier runs may have committed.
func (u *unit) found(r *refund.Refund) {
	for _, e := range u.unsure {
		if e.ref == r.RefundRef && r.State.Final() && r.FinalAt.Equal(e.at) {
			u.written = append(u.written, e)
			return
		}
	}
}
