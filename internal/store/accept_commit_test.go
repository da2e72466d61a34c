package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// behindACutter opens a store whose COMMITs can be cut.
func (b *testStore) behindACutter(t *testing.T) (*Store, *wireCutter) {
	t.Helper()
	w, url := newWireCutter(t, b.url)
	s, err := Open(t.Context(), Config{URL: url, Accounts: anyAccount{testContract()}, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, w
}

func TestAcceptCommitUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		at        cut
		committed int
	}{"before COMMIT": {cutBefore, 0}, "after COMMIT": {cutAfter, 1}} {
		t.Run(name, func(t *testing.T) {
			b := newTestStore(t)
			s, w := b.behindACutter(t)
			w.arm(c.at)
			_, err := s.acceptOnce(t.Context(), s.newUnit(), []intake.Intake{b.request("e1", "rf_1", "pay_1", 60, inlinePayment(100))})
			if !errors.Is(err, refund.ErrCommitUnknown) || w.cuts() != 1 {
				t.Errorf("%v after %d cuts, want ErrCommitUnknown after one", err, w.cuts())
			}
			deadline := time.Now().Add(10 * time.Second)
			for b.count(t, `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE l.locktype = 'advisory' AND d.datname = current_database()`) > 0 {
				if time.Now().After(deadline) {
					t.Fatal("the cut transaction did not end")
				}
			}
			if n := b.count(t, `SELECT count(*) FROM refunds`); n != c.committed {
				t.Errorf("%d refunds, want %d", n, c.committed)
			}
		})
	}
}

// A cut COMMIT does not change the outcomes of Door.Accept: new intakes are Taken, the others keep their outcome, and each refund exists
// once.
func TestAcceptAnswersAfterLostCommits(t *testing.T) {
	for i, cuts := range [][]cut{{cutBefore}, {cutAfter}, {cutAfter, cutAfter}, {cutBefore, cutAfter, cutBefore}} {
		for _, single := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v single=%v", cuts, single), func(t *testing.T) {
				b := newTestStore(t)
				s, w := b.behindACutter(t)
				unknown := 0
				s.cfg.CommitUnknown = func() { unknown++ }
				d := intake.NewDoor(intake.DoorConfig{Accepter: s, NewRID: pg.NewRID})
				defer d.Stop()
				b.accept(t, b.request("known", "rf_known", "pay_1", 10, inlinePayment(100)))
				own := b.request("e1", "rf_1", "pay_1", 60, nil)
				g := []intake.Intake{own}
				if !single {
					g = append(g, b.request("e2", "rf_2", "pay_1", 60, nil), b.request("e3", "rf_known", "pay_1", 10, nil), b.request("e4", "rf_known", "pay_1", 11, nil))
				}
				w.arm(cuts...)
				out, err := d.Accept(t.Context(), g)
				if err != nil {
					t.Fatal(err)
				}
				wantVerdicts(t, out, []intake.Verdict{intake.Taken, intake.Refused, intake.Replayed, intake.Conflict}[:len(g)]...)
				if out[0].Refund.RID != own.RID {
					t.Error("the accepted refund is not the caller's own")
				}
				if unknown == 0 || unknown > len(cuts) {
					t.Errorf("case %d: %d unknown commits reported, %d cut", i, unknown, len(cuts))
				}
				if n := b.count(t, `SELECT count(*) FROM refunds`); n != 2 {
					t.Errorf("%d refunds, want 2", n)
				}
				if n := b.count(t, `SELECT reserved FROM payments`); n != 70 {
					t.Errorf("reserved %d, want 70", n)
				}
				b.wantNoViolations(t)
			})
		}
	}
}

// PutPayment through a cut COMMIT says whether it created the payment, and stores it once.
func TestPutPaymentAfterLostCommit(t *testing.T) {
	for _, c := range []cut{cutBefore, cutAfter} {
		b := newTestStore(t)
		s, w := b.behindACutter(t)
		w.arm(c)
		p, created, err := s.PutPayment(t.Context(), b.tenant, "pay_1", *inlinePayment(100), "actor:test")
		if err != nil || !created || p.Captured != 100 {
			t.Errorf("cut %d: %+v created=%v %v", c, p, created, err)
		}
	}
}
