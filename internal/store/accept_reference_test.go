package store

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// haltingEnqueuer stops a transaction between its decision and its writes.
type haltingEnqueuer struct {
	reached, goOn chan struct{}
}

func newHaltingEnqueuer() *haltingEnqueuer {
	return &haltingEnqueuer{reached: make(chan struct{}), goOn: make(chan struct{})}
}

func (h *haltingEnqueuer) EnqueueTx(ctx context.Context, _ pgx.Tx, _ []refund.Wakeup) error {
	close(h.reached)
	select {
	case <-h.goOn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// halted runs a group up to the point between its decision and its writes. goOn lets it finish.
func (b *testStore) halted(t *testing.T, g ...intake.Intake) (goOn func() []intake.Outcome) {
	t.Helper()
	h := newHaltingEnqueuer()
	other, err := Open(t.Context(), Config{URL: b.url, Accounts: anyAccount{testContract()}, Enqueuer: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	type answer struct {
		out []intake.Outcome
		err error
	}
	done := make(chan answer, 1)
	go func() {
		out, err := other.AcceptGroup(t.Context(), g)
		done <- answer{out, err}
	}()
	select {
	case <-h.reached:
	case a := <-done:
		t.Fatalf("the group ended before its writes: %v %v", a.out, a.err)
	}
	return func() []intake.Outcome {
		t.Helper()
		close(h.goOn)
		a := <-done
		if a.err != nil {
			t.Fatal(a.err)
		}
		return a.out
	}
}

// Two payments that claim one channel reference at the same moment: neither waits or violates the unique index; the second one gets a
// conflict once the first is committed.
func TestReferenceIsTakenUnderAMutex(t *testing.T) {
	b := newTestStore(t)
	two := b.addTenant(t, "two")
	spec := func() *intake.PaymentSpec {
		s := inlinePayment(100)
		s.Reference = "ch_1"
		return s
	}
	goOn := b.halted(t, b.request("e1", "rf_1", "pay_1", 60, spec()))
	mine := b.request("e2", "rf_2", "pay_2", 60, spec())
	foreign := b.request("e3", "rf_3", "pay_3", 60, spec())
	foreign.Tenant = two
	wantVerdicts(t, b.accept(t, mine, foreign), intake.NotLocked, intake.NotLocked)
	wantVerdicts(t, goOn(), intake.Taken)
	out := b.accept(t, mine, foreign)
	wantVerdicts(t, out, intake.Conflict, intake.Conflict)
	for _, o := range out {
		if o.Code != refund.CodePaymentConflict || len(o.Fields) != 1 || o.Fields[0] != "payment.channelReference" {
			t.Errorf("%s %v, want a conflict about the channel's reference", o.Code, o.Fields)
		}
	}
	if n := b.count(t, `SELECT count(*) FROM payments`); n != 1 {
		t.Errorf("%d payments, want 1", n)
	}
}
