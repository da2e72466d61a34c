package store

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// endedLog keeps what Config.Ended was called with.
type endedLog struct {
	mu     sync.Mutex
	states []refund.State
	ages   []time.Duration
}

func (l *endedLog) ended(state refund.State, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states, l.ages = append(l.states, state), append(l.ages, took)
}

// want compares the calls since the last want.
func (l *endedLog) want(t *testing.T, what string, states ...refund.State) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.states, states) {
		t.Errorf("%s: reported %v, want %v", what, l.states, states)
	}
	for _, age := range l.ages {
		if age <= 0 || age > time.Hour {
			t.Errorf("%s: age %s, want the time since the refund was created", what, age)
		}
	}
	l.states, l.ages = nil, nil
}

func TestEveryEndIsReportedOnce(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { c.Codes.LateFailure = true })
	var log endedLog
	c.cfg.RefundEnded = log.ended

	k := c.refund(t, "answer")
	claimed := c.send(t, k, "", "")
	log.want(t, "a refund under way")
	fact := refund.FactOf(claimed.Attempt, refund.Answer{Kind: refund.Succeeded, ChannelRefundID: "ch_answer", Rule: "test"})
	c.enter(t, k, fact)
	c.enter(t, k, fact)
	log.want(t, "an answer, entered twice", refund.StateSuccess)
	c.notice(t, k, refund.Reversed, 1, "ch_answer")
	log.want(t, "a reversal of a refund that was final")

	k = c.refund(t, "notice")
	c.send(t, k, "", "")
	n := notice("end", c.number(t, k), "ch_notice", refund.Succeeded)
	c.receive(t, n, refund.NoticeEntered)
	c.receive(t, n, refund.NoticeKnown)
	log.want(t, "a notice, delivered twice", refund.StateSuccess)

	k = c.refund(t, "cancel")
	for range 2 {
		if _, err := c.Cancel(t.Context(), k, "actor:ann"); err != nil {
			t.Fatal(err)
		}
	}
	log.want(t, "a cancellation, asked for twice", refund.StateCanceled)

	k = c.refund(t, "decision")
	c.stuck(t, k)
	if r := c.decide(t, k, refund.ActionConfirmNotDone); r.State != refund.StateFailed {
		t.Fatalf("state %s, want FAILED by the decision", r.State)
	}
	log.want(t, "a person's decision", refund.StateFailed)
	c.wantConsistent(t)
}

// An early notice waits for the number of a refund: the transaction that creates the refund also ends it.
func TestAnEndAtAcceptanceIsReported(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	var log endedLog
	f.cfg.RefundEnded = log.ended
	number := refund.DispatchNumber(f.Installation(), f.tenant.Code, "early_0", 1)
	f.receive(t, notice("early", number, "ch_early", refund.Succeeded), refund.NoticeKept)
	log.want(t, "a kept notice")
	k := f.refund(t, "early")
	log.want(t, "an acceptance with an early notice", refund.StateSuccess)
	f.wantState(t, k, refund.StateSuccess)
}

func TestAnEndIsReportedOnceAfterLostCommits(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	w, url := newWireCutter(t, f.url)
	s := f.openSecond(t, url)
	var log endedLog
	s.cfg.RefundEnded = log.ended
	for name, cuts := range map[string][]cut{"before": {cutBefore}, "after": {cutAfter}, "before-after": {cutBefore, cutAfter},
		"after-after": {cutAfter, cutAfter}} {
		canceled, noticed, answered := f.refund(t, "c-"+name), f.refund(t, "n-"+name), f.refund(t, "a-"+name)
		w.arm(cuts...)
		if _, err := s.Cancel(t.Context(), canceled, "actor:ann"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.disarm()
		log.want(t, name+": a cancellation", refund.StateCanceled)
		f.claim(t, noticed, refund.AttemptSend, 10*time.Second)
		n := notice(name, f.number(t, noticed), "ch_n"+name, refund.Succeeded)
		w.arm(cuts...)
		if out, err := s.ReceiveNotice(t.Context(), "demo", n); err != nil || out != refund.NoticeEntered {
			t.Fatalf("%s: %s %v, want %s", name, out, err, refund.NoticeEntered)
		}
		w.disarm()
		log.want(t, name+": a notice", refund.StateSuccess)
		claimed := f.claim(t, answered, refund.AttemptSend, 10*time.Second)
		w.arm(cuts...)
		if _, err := s.Enter(t.Context(), answered, succeeded(claimed, "ch_a"+name), f.contract); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.disarm()
		log.want(t, name+": an answer", refund.StateSuccess)
	}
	f.wantSound(t)
}
