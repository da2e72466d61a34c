package intake

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// request is one intake in the Door, with its answer.
type request struct {
	in       Intake
	since    time.Time
	outcome  Outcome
	err      error
	answered chan struct{} // closed when outcome or err is set
}

func (t *request) fail(err error) {
	t.err = err
	close(t.answered)
}

// failAll answers intakes that Stop has interrupted before their locks were free.
func failAll(ts []*request) {
	for _, t := range ts {
		t.fail(refund.ErrUnavailable)
	}
}

// process accepts one group and answers its intakes. It returns those that have to be tried again.
func (d *Door) process(ts []*request) []*request {
	g := make([]Intake, len(ts))
	for i, t := range ts {
		g[i] = t.in
	}
	outcomes, err := d.acceptGroup(g)
	switch {
	case err == nil:
		return d.reply(ts, outcomes)
	case errors.Is(err, refund.ErrBusy) && len(ts) == 1:
		return d.reply(ts, []Outcome{{Verdict: NotLocked}})
	case errors.Is(err, refund.ErrUnavailable) || len(ts) == 1:
		for _, t := range ts {
			t.fail(err)
		}
		return nil
	}
	// One intake causes the error (a race that only a constraint detected, a value that the database refuses): the others must
	// not fail with it.
	d.cfg.Logger.Warn("group failed, bisecting", "items", len(ts), "error", err)
	half := len(ts) / 2
	if lost := d.process(ts[:half]); len(lost) > 0 {
		return append(lost, ts[half:]...) // in their order: the second half must not overtake them
	}
	return d.process(ts[half:])
}

// acceptGroup runs the transaction, although its callers may have left.
func (d *Door) acceptGroup(g []Intake) ([]Outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.TransactionTimeout)
	defer cancel()
	return d.cfg.Accepter.AcceptGroup(ctx, g)
}

func (d *Door) reply(ts []*request, out []Outcome) []*request {
	var lost []*request
	now := d.cfg.Clock()
	for i, o := range out {
		t := ts[i]
		if o.Verdict == NotLocked {
			if now.Sub(t.since) < d.cfg.BusyAfter {
				lost = append(lost, t)
				continue
			}
			o = Outcome{Verdict: Busy, Code: refund.CodeInProgress}
		}
		t.outcome = o
		d.cfg.Observe(t.in, o, now.Sub(t.since))
		close(t.answered)
	}
	return lost
}

// retryNotLocked queues lost intakes again after a pause.
func (d *Door) retryNotLocked(lost []*request) {
	if len(lost) == 0 {
		return
	}
	d.done.Add(1)
	go func() {
		defer d.done.Done()
		pause(d.stop)
		for _, t := range lost {
			select {
			case d.queue <- t:
			case <-d.stop:
				t.fail(refund.ErrUnavailable)
			}
		}
	}()
}

// pause waits 1 to 3 ms. It returns false when Stop was called.
func pause(stop <-chan struct{}) bool {
	timer := time.NewTimer(time.Millisecond + rand.N(2*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}
