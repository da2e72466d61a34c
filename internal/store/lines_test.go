package store

import (
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

func foreign(id string, amount int64) refund.ListedEffect {
	return refund.ListedEffect{ChannelRefundID: id, Status: refund.Succeeded, Amount: amount, Currency: "USD"}
}

func (c *testDecisions) lines(t *testing.T, payment string, complete bool, lines ...refund.ListedEffect) {
	t.Helper()
	if err := c.EnterLines(t.Context(), c.tenant.ID, payment, "list", lines, complete, c.contract); err != nil {
		t.Fatal(err)
	}
}

// settle does what payment_wake jobs do.
func (c *testDecisions) settle(t *testing.T) {
	t.Helper()
	for _, w := range c.jobs.take() {
		if w.PaymentID != "" {
			if err := c.SettleLines(t.Context(), w.Tenant, w.PaymentID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// wantLine checks a line of a payment by its channel id, and the payment's balances.
func (c *testDecisions) wantLine(t *testing.T, why, payment, id string, status refund.EffectStatus, refunded, held int64) {
	t.Helper()
	if got := c.text(t, `SELECT coalesce((SELECT status FROM effects WHERE channel_refund_id = $1 AND rid IS NULL), '-')`, id); got != string(status) {
		t.Errorf("%s: line %s is %s, want %s", why, id, got, status)
	}
	v, err := c.reader().FindPayment(t.Context(), c.tenant.ID, payment)
	if err != nil || v.Payment.Refunded != refunded || v.Payment.Held != held {
		t.Errorf("%s: refunded %d, held %d, %v, want %d and %d", why, v.Payment.Refunded, v.Payment.Held, err, refunded, held)
	}
	c.wantConsistent(t)
}

// The order of rule R19 of docs/rules.md on real rows, with the history of every line.
func TestLinesHeldPairedAdopted(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	a, b := c.pair(t, "pay", 1000, 100, 200)
	c.lines(t, "pay", false, foreign("re_0", 100))
	c.wantLine(t, "an incomplete list adopts nothing", "pay", "re_0", "-", 0, 0)
	c.lines(t, "pay", true, foreign("re_0", 70))
	c.wantLine(t, "nobody's", "pay", "re_0", refund.EffectMoved, 70, 0)

	c.send(t, a, refund.Unknown, "")
	c.lines(t, "pay", true, foreign("re_0", 70), foreign("re_1", 100), foreign("re_2", 55))
	c.wantLine(t, "the amount of something exposed", "pay", "re_1", refund.EffectHeld, 70, 55)
	c.wantReasons(t, c.load(t, a), refund.CaseUnmatchedLine)
	c.wantReasons(t, c.load(t, b))
	c.lines(t, "pay", true, foreign("re_0", 70), foreign("re_1", 100), foreign("re_2", 55))
	c.wantLine(t, "the same list again", "pay", "re_2", refund.EffectHeld, 70, 55)

	c.notice(t, a, refund.Succeeded, 1, "re_9")
	c.settle(t)
	c.wantLine(t, "ours was another one", "pay", "re_1", refund.EffectMoved, 325, 0)
	c.wantLine(t, "nothing is exposed any more", "pay", "re_2", refund.EffectMoved, 325, 0)
	c.wantReasons(t, c.wantState(t, a, refund.StateSuccess))
	if r := c.load(t, a); !r.NextActionAt.IsZero() {
		t.Errorf("nothing is left to do, timer %s", r.NextActionAt)
	}

	c.stuck(t, b)
	c.decide(t, b, refund.ActionConfirmSuccess)
	c.lines(t, "pay", true, foreign("re_3", 200))
	c.wantLine(t, "paired: no line of its own", "pay", "re_3", "-", 525, 0)
	if r := c.load(t, b); len(r.Effects) == 0 || len(r.Facts) != 0 ||
		c.count(t, `SELECT count(*) FROM effects WHERE rid IS NOT NULL AND channel_refund_id = 're_3'`) != 1 {
		t.Errorf("%+v", r.Effects)
	}
	c.lines(t, "pay", true, refund.ListedEffect{ChannelRefundID: "re_0", Status: refund.Reversed, Amount: 70, Currency: "USD"})
	c.wantLine(t, "the foreign one was returned", "pay", "re_0", refund.EffectReversed, 455, 0)
	if n := c.count(t, `SELECT count(*) FROM effect_events WHERE effect_id = (SELECT effect_id FROM effects WHERE channel_refund_id = 're_1')`); n != 2 {
		t.Errorf("%d events of a line that was held, then adopted", n)
	}
}

// A held line that was ours all along is dropped, one that a person attaches becomes the effect, one that he disowns is adopted.
func TestHeldLinesAndPeople(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	for i, name := range []string{"ours", "attached", "disowned", "by-name"} {
		payment := "pay_" + name
		k, _ := c.pair(t, payment, 1000, 100, 50)
		claimed := c.send(t, k, refund.Unknown, "")
		c.lines(t, payment, true, foreign("re_"+name, 100))
		c.wantLine(t, name, payment, "re_"+name, refund.EffectHeld, 0, 0)
		c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
		switch i {
		case 0:
			c.notice(t, k, refund.Succeeded, 1, "re_"+name)
			c.settle(t)
			if got := c.text(t, `SELECT string_agg(status, ' ' ORDER BY status) FROM effects WHERE channel_refund_id = $1`, "re_"+name); got != "DROPPED MOVED" {
				t.Errorf("%s: %s", name, got)
			}
		case 1:
			r := c.load(t, k)
			line := r.Effects[0].ID
			d, _, err := c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionConfirmSuccess, Evidence: "ticket 4711",
				EffectID: line, Actor: "ann"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.judge(t, d, true, "bob"); err != nil {
				t.Fatal(err)
			}
			if r = c.wantState(t, k, refund.StateSuccess); len(r.Effects) != 1 || r.Effects[0].ID != line || !r.Effects[0].Ours {
				t.Errorf("%+v", r.Effects)
			}
		case 2:
			c.decide(t, k, refund.ActionConfirmNotDone)
			c.settle(t)
			c.wantState(t, k, refund.StateFailed)
			c.wantLine(t, name, payment, "re_"+name, refund.EffectMoved, 100, 0)
			c.notice(t, k, refund.Succeeded, 1, "re_"+name) // and it was ours
			r := c.wantState(t, k, refund.StateSuccess)
			c.wantReasons(t, r, refund.CaseContradiction, refund.CaseSuccessAfterEnd)
			if r.Payment.Refunded != 100 || len(r.Effects) != 1 || !r.Effects[0].Ours {
				t.Errorf("re-attributed: %+v %+v", r.Payment, r.Effects)
			}
		case 3:
			r := c.load(t, k)
			c.lines(t, payment, true, refund.ListedEffect{Number: r.Dispatches[0].Number, ChannelRefundID: "re_mine", Status: refund.Succeeded, Amount: 100,
				Currency: "USD"})
			c.settle(t)
			c.wantState(t, k, refund.StateSuccess)
			c.wantLine(t, "told by its number", payment, "re_"+name, refund.EffectMoved, 200, 0)
		}
		c.wantConsistent(t)
	}
}

// An id that only a line had given to one refund proves to be another's: it moves there, and the freed effect is paired again.
func TestPairedIDMovesToItsRefund(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	a, b := c.pair(t, "pay", 1000, 100, 100)
	c.stuck(t, a)
	c.decide(t, a, refund.ActionConfirmSuccess)
	c.lines(t, "pay", true, foreign("re_1", 100)) // a's, as far as anybody can tell
	claimed := c.send(t, b, refund.Unknown, "")
	c.enter(t, b, refund.Fact{Kind: refund.Succeeded, Dispatch: claimed.DispatchNo, ChannelRefundID: "re_1", Amount: 100, Currency: "USD", Source: "notice"})
	c.wantState(t, b, refund.StateSuccess)
	if got := c.text(t, `SELECT coalesce(channel_refund_id, '-') FROM effects WHERE rid = $1`, [16]byte(a.RID)); got != "-" {
		t.Errorf("a keeps %s", got)
	}
	c.lines(t, "pay", true, foreign("re_1", 100), foreign("re_2", 100))
	if got := c.text(t, `SELECT coalesce(channel_refund_id, '-') FROM effects WHERE rid = $1`, [16]byte(a.RID)); got != "re_2" {
		t.Errorf("a is paired with %s, want re_2", got)
	}
	c.wantConsistent(t)
}

// C19: the channel refuses because the payment was refunded outside before. The refund fails by proof, and the balance includes the
// foreign refund.
func TestRefundedOutsideFailsByProof(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	k, _ := c.pair(t, "pay", 150, 100, 50)
	claimed := c.send(t, k, refund.RefusedEcho, "")
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	asked := c.claim(t, k, refund.AttemptList, time.Second)
	older := foreign("re_out", 100)
	older.At = claimed.StartedAt.Add(-time.Hour) // by the channel's own time
	c.lines(t, "pay", true, older)               // before the absence counts, so that nothing is sent on top of it
	c.wantReasons(t, c.load(t, k))
	c.wantLine(t, "held until it is clear that nothing is exposed", "pay", "re_out", refund.EffectHeld, 0, 100)
	c.enter(t, k, answered(asked, refund.NotFound))
	c.settle(t)
	r := c.wantState(t, k, refund.StateFailed)
	c.wantReasons(t, r)
	if r.Failure.Code != "channel-refused-duplicate" || !r.NextActionAt.IsZero() {
		t.Errorf("%+v", r.Refund)
	}
	c.wantLine(t, "adopted", "pay", "re_out", refund.EffectMoved, 100, 0)
	if p := r.Payment; p.Reserved != 50 || p.Excess != 0 || p.Refundable() != 0 {
		t.Errorf("%+v", p)
	}
}

// The same list comes to many readers at once, while facts of both refunds are entered: each line is in the books once.
func TestLinesAtOnce(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	a, b := c.pair(t, "pay", 1000, 100, 200)
	c.send(t, a, refund.Unknown, "")
	c.send(t, b, refund.Unknown, "")
	var wg sync.WaitGroup
	until := func(do func() error) {
		wg.Go(func() {
			err := do()
			for end := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(end); {
				err = do()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range 10 {
		until(func() error {
			return c.EnterLines(t.Context(), c.tenant.ID, "pay", "list", []refund.ListedEffect{foreign("re_1", 100), foreign("re_2", 33), foreign("re_3", 200)},
				true, c.contract)
		})
		until(func() error { return c.SettleLines(t.Context(), c.tenant.ID, "pay") })
	}
	for i, k := range []refund.RefundRef{a, b} {
		until(func() error {
			_, err := c.Enter(t.Context(), k, refund.Fact{Kind: refund.Succeeded, Dispatch: 1, ChannelRefundID: []string{"re_1", "re_b"}[i], Source: "worker"},
				c.contract)
			return err
		})
	}
	wg.Wait()
	if err := c.SettleLines(t.Context(), c.tenant.ID, "pay"); err != nil {
		t.Fatal(err)
	}
	v, err := c.reader().FindPayment(t.Context(), c.tenant.ID, "pay")
	if err != nil || v.Payment.Held != 0 || v.Payment.Refunded != 100+200+33+200 {
		t.Errorf("%+v %v, want re_1 and re_b ours, re_2 and re_3 adopted", v.Payment, err)
	}
	c.wantConsistent(t)
}
