package store

import (
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

func newWaitingStore(t *testing.T) (*testStore, *jobLog) {
	t.Helper()
	b, jobs := newTestStore(t), &jobLog{}
	b.cfg.Enqueuer = jobs
	return b, jobs
}

func wakesOf(jobs []refund.Wakeup) (payments []string) {
	for _, w := range jobs {
		if w.PaymentID != "" {
			payments = append(payments, w.PaymentID)
		}
	}
	return payments
}

// retry submits what is parked for a payment again, as the wake job does.
func (b *testStore) retry(t *testing.T, payment string, same func(intake.ParkedMessage) intake.Intake) []intake.Outcome {
	t.Helper()
	list, err := b.Waiting(t.Context(), b.tenant.ID, payment, refund.RID{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var g []intake.Intake
	for _, m := range list {
		in := same(m)
		in.Parked = m.ID
		g = append(g, in)
	}
	if len(g) == 0 {
		return nil
	}
	return b.accept(t, g...)
}

func TestRefundBeforeItsPayment(t *testing.T) {
	for name, make := range map[string]func(*testing.T, *testStore){
		"payment.captured": func(t *testing.T, b *testStore) { b.accept(t, b.captured("c1", "pay_1", "cap_1", 100)) },
		"inline payment": func(t *testing.T, b *testStore) {
			b.accept(t, b.request("e9", "rf_9", "pay_1", 10, inlinePayment(100)))
		},
		"PUT payment": func(t *testing.T, b *testStore) {
			if _, created, err := b.PutPayment(t.Context(), b.tenant, "pay_1", *inlinePayment(100), "actor:test"); err != nil || !created {
				t.Fatal(created, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, jobs := newWaitingStore(t)
			early := b.event("m1", "rf_1", "pay_1", 60, nil)
			wantVerdicts(t, b.accept(t, early), intake.Waiting)
			if got := b.text(t, `SELECT concat_ws(' ', reason, wake_payment, alarm_at - at) FROM parked`); got != "waiting pay_1 00:15:00" {
				t.Errorf("parked %q", got)
			}
			if n := b.count(t, `SELECT count(*) FROM receipts`); n != 0 {
				t.Errorf("waiting binds no event id, %d receipts", n)
			}
			wantVerdicts(t, b.accept(t, early), intake.Waiting) // redelivered: one row
			jobs.take()
			make(t, b)
			if got := wakesOf(jobs.take()); len(got) != 1 || got[0] != "pay_1" {
				t.Fatalf("wake jobs %v, want one for pay_1", got)
			}
			wantVerdicts(t, b.retry(t, "pay_1", func(intake.ParkedMessage) intake.Intake { return early }), intake.Taken)
			if got := b.text(t, `SELECT concat_ws(' ', done_how, done_at IS NOT NULL, tries) FROM parked`); got != "accepted t 3" {
				t.Errorf("settled as %q", got)
			}
			b.wantNoViolations(t)
		})
	}
}

func TestWaitingOnRESTParksNothing(t *testing.T) {
	b, _ := newWaitingStore(t)
	out := b.accept(t, b.request("e1", "rf_1", "pay_1", 60, nil))
	wantVerdicts(t, out, intake.Waiting)
	if out[0].Code != refund.CodePaymentUnknown || b.count(t, `SELECT count(*) FROM parked`)+b.count(t, `SELECT count(*) FROM receipts`) != 0 {
		t.Errorf("%s, and the database keeps nothing", out[0].Code)
	}
}

// A message comes before its payment in the same group: the group enqueues the wake job of the message that it parks.
func TestWaitingAndItsPaymentInOneGroup(t *testing.T) {
	b, jobs := newWaitingStore(t)
	early := b.event("m1", "rf_1", "pay_1", 60, nil)
	wantVerdicts(t, b.accept(t, early, b.captured("c1", "pay_1", "cap_1", 100)), intake.Waiting, intake.Taken)
	if got := wakesOf(jobs.take()); len(got) != 1 {
		t.Fatalf("wake jobs %v, want one", got)
	}
	wantVerdicts(t, b.retry(t, "pay_1", func(intake.ParkedMessage) intake.Intake { return early }), intake.Taken)
}

// The payment commits after a group has found it unknown and before that group has parked: no waiter was visible, so no job was written.
// The sweeper finds the pair.
func TestPaymentKnownBetweenUnknownAndParking(t *testing.T) {
	b, jobs := newWaitingStore(t)
	early := b.event("m1", "rf_1", "pay_1", 60, nil)
	other := b.request("e2", "rf_2", "pay_2", 1, inlinePayment(100)) // gives the halted group a job to stop at
	goOn := b.halted(t, early, other)
	wantVerdicts(t, b.accept(t, b.captured("c1", "pay_1", "cap_1", 100)), intake.Taken)
	if got := wakesOf(jobs.take()); len(got) != 0 {
		t.Fatalf("wake jobs %v, want none: nothing was parked yet", got)
	}
	wantVerdicts(t, goOn(), intake.Waiting, intake.Taken)
	swept, err := b.Sweep(t.Context(), 100)
	if err != nil || swept.Payments != 1 {
		t.Fatalf("swept %+v, %v, want one payment woken", swept, err)
	}
	if got := wakesOf(jobs.take()); len(got) != 1 || got[0] != "pay_1" {
		t.Fatalf("wake jobs %v, want one for pay_1", got)
	}
	wantVerdicts(t, b.retry(t, "pay_1", func(intake.ParkedMessage) intake.Intake { return early }), intake.Taken)
	b.wantNoViolations(t)
}

// A message that was parked long ago, and whose payment is known, is woken by one of eight passes in a row.
func TestEightSweepsReadEveryWaitingMessage(t *testing.T) {
	b, jobs := newWaitingStore(t)
	early := b.event("m1", "rf_1", "pay_1", 60, nil)
	wantVerdicts(t, b.accept(t, early), intake.Waiting)
	wantVerdicts(t, b.accept(t, b.captured("c1", "pay_1", "cap_1", 100)), intake.Taken)
	if _, err := b.pool.Exec(t.Context(), `UPDATE parked SET at = at - interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	jobs.take()
	woken := 0
	for range 8 {
		swept, err := b.Sweep(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		woken += swept.Payments
	}
	if got := wakesOf(jobs.take()); woken != 1 || len(got) != 1 || got[0] != "pay_1" {
		t.Fatalf("eight passes woke %d payments with the jobs %v, want pay_1 once", woken, got)
	}
}

// A retried message that is refused now stays parked under its new reason, and is not woken again.
func TestWaitingEndsInARefusal(t *testing.T) {
	b, _ := newWaitingStore(t)
	early := b.event("m1", "rf_1", "pay_1", 600, nil)
	b.accept(t, early)
	if _, _, err := b.PutPayment(t.Context(), b.tenant, "pay_1", *inlinePayment(100), "actor:test"); err != nil {
		t.Fatal(err)
	}
	wantVerdicts(t, b.retry(t, "pay_1", func(intake.ParkedMessage) intake.Intake { return early }), intake.Refused)
	if got := b.text(t, `SELECT concat_ws(' ', reason, coalesce(wake_payment, 'none'), done_at IS NULL, tries) FROM parked`); got != "amount-exceeds-refundable none t 2" {
		t.Errorf("parked %q", got)
	}
}

// A place that was parked for another reason, and whose message waits now, is woken like any other.
func TestMessageParkedForAnotherReasonMayWait(t *testing.T) {
	b, jobs := newWaitingStore(t)
	early := b.event("m1", "rf_1", "pay_1", 60, nil)
	if err := b.Park(t.Context(), b.tenant.ID, early.Event, "malformed-json", *early.Park); err != nil {
		t.Fatal(err)
	}
	wantVerdicts(t, b.accept(t, early), intake.Waiting)
	b.accept(t, b.captured("c1", "pay_1", "cap_1", 100))
	if got := wakesOf(jobs.take()); len(got) != 1 {
		t.Fatalf("wake jobs %v, want one", got)
	}
	wantVerdicts(t, b.retry(t, "pay_1", func(intake.ParkedMessage) intake.Intake { return early }), intake.Taken)
}

// An inline payment that another group is about to make is not "unknown": its mutex is held.
func TestInlinePaymentUnderWayIsLostNotUnknown(t *testing.T) {
	b, _ := newWaitingStore(t)
	goOn := b.halted(t, b.request("e1", "rf_1", "pay_1", 60, inlinePayment(100)))
	second := b.request("e2", "rf_2", "pay_1", 60, inlinePayment(100))
	wantVerdicts(t, b.accept(t, second), intake.NotLocked)
	wantVerdicts(t, goOn(), intake.Taken)
	wantVerdicts(t, b.accept(t, second), intake.Refused)
}
