package store

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// TestEveryLostCommitIsCountedAndRunAgain: one helper recognises it, pauses and runs the transaction again, whatever it stores.
func TestEveryLostCommitIsCountedAndRunAgain(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	w, url := newWireCutter(t, f.url)
	s := f.openSecond(t, url)
	lost := 0
	s.cfg.CommitUnknown = func() { lost++ }
	tenant, err := s.Tenant(t.Context(), f.tenant.Code)
	if err != nil {
		t.Fatal(err)
	}
	canceled, answered := f.refund(t, "canceled"), f.refund(t, "answered")
	claimed := f.claim(t, answered, refund.AttemptSend, 10*time.Second)
	key, err := access.NewAPIKey(rand.Reader, tenant.Mode)
	if err != nil {
		t.Fatal(err)
	}
	park := intake.Park{Position: "7", Body: []byte("x")}
	for name, run := range map[string]func(ctx context.Context) error{
		"a group of intakes": func(ctx context.Context) error {
			out, err := s.AcceptGroup(ctx, []intake.Intake{f.request("e_lost", "rf_lost", "pay_lost", 60, inlinePayment(100))})
			if err == nil && (len(out) != 1 || out[0].Refund == nil) {
				t.Errorf("outcomes %+v, want one with a refund", out)
			}
			return err
		},
		"an answer": func(ctx context.Context) error {
			_, err := s.Enter(ctx, answered, succeeded(claimed, "ch_lost"), f.contract)
			return err
		},
		"a cancellation": func(ctx context.Context) error { _, err := s.Cancel(ctx, canceled, "actor:ann"); return err },
		"a payment": func(ctx context.Context) error {
			_, _, err := s.PutPayment(ctx, f.tenant, "pay_put", *inlinePayment(100), "actor:ann")
			return err
		},
		"a kept notice": func(ctx context.Context) error {
			_, err := s.ReceiveNotice(ctx, "demo", notice("lost", "n_nobody", "ch_nobody", refund.Succeeded))
			return err
		},
		"a parked message": func(ctx context.Context) error {
			return s.Park(ctx, f.tenant.ID, intake.EventID{Consumer: "orders"}, "undecodable", park)
		},
		"a key": func(ctx context.Context) error {
			return s.AddKey(ctx, NewKey{Tenant: tenant, Actor: "ann", Kind: "person", Scopes: []string{"refunds:read"}}, key)
		},
	} {
		for _, c := range []cut{cutBefore, cutAfter} {
			before := lost
			w.arm(c)
			if err := run(t.Context()); err != nil {
				t.Errorf("%s, cut %d: %v, want that the transaction ran again", name, c, err)
			}
			w.disarm()
			// the second time there may be nothing left to write, and then no COMMIT to lose
			if c == cutBefore && lost != before+1 {
				t.Errorf("%s: %d lost COMMITs counted, want 1", name, lost-before)
			}
		}
	}
	f.wantSound(t)
}

// TestAnEndAtAcceptanceIsReportedAfterALostCommit: the transaction that creates the refund also ends it by an early notice.
func TestAnEndAtAcceptanceIsReportedAfterALostCommit(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	w, url := newWireCutter(t, f.url)
	s := f.openSecond(t, url)
	var log endedLog
	s.cfg.RefundEnded = log.ended
	for name, c := range map[string]cut{"before": cutBefore, "after": cutAfter} {
		number := refund.DispatchNumber(f.Installation(), f.tenant.Code, "early_"+name, 1)
		f.receive(t, notice("n_"+name, number, "ch_"+name, refund.Succeeded), refund.NoticeKept)
		in := f.request("e_"+name, "early_"+name, "pay_"+name, 60, inlinePayment(100))
		in.RID = s.cfg.NewRID()
		w.arm(c)
		out, err := s.AcceptGroup(t.Context(), []intake.Intake{in})
		for err == nil && out[0].Verdict == intake.NotLocked { // the cut transaction has not ended yet
			out, err = s.AcceptGroup(t.Context(), []intake.Intake{in})
		}
		w.disarm()
		if err != nil {
			t.Fatal(err)
		}
		log.want(t, name, refund.StateSuccess)
	}
	f.wantSound(t)
}
