package intake

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// blockedAccepter answers only after release.
func blockedAccepter() (accepter *scriptedAccepter, release func()) {
	open := make(chan struct{})
	accepter = &scriptedAccepter{answer: func(_ int, g []Intake) ([]Outcome, error) {
		<-open
		return allAccepted(g, nil)
	}}
	return accepter, sync.OnceFunc(func() { close(open) })
}

type doorAnswer struct {
	out []Outcome
	err error
}

func acceptLater(d *Door, g ...Intake) <-chan doorAnswer {
	answer := make(chan doorAnswer, 1)
	go func() {
		out, err := d.Accept(context.Background(), g)
		answer <- doorAnswer{out, err}
	}()
	return answer
}

// Requests that queue while a group is committed form the next one; beyond the queue they are refused at once.
func TestDoorGathersAndRefusesWhenFull(t *testing.T) {
	accepter, release := blockedAccepter()
	defer release()
	d := newTestDoor(t, DoorConfig{Accepter: accepter, Queue: 8, QueueWorkers: 1})
	answers := []<-chan doorAnswer{acceptLater(d, doorIntake("first"))}
	waitFor(t, "the first is in progress", func() bool { return len(accepter.calls()) == 1 })
	for _, in := range doorIntakes(8) {
		answers = append(answers, acceptLater(d, in))
	}
	waitFor(t, "the queue is full", func() bool { return len(d.queue) == 8 })
	if _, err := d.Accept(t.Context(), doorIntakes(1)); !errors.Is(err, refund.ErrOverloaded) {
		t.Errorf("%v, want ErrOverloaded", err)
	}
	release()
	for _, a := range answers {
		if got := <-a; got.err != nil || got.out[0].Verdict != Taken {
			t.Errorf("%+v, want Accepted", got)
		}
	}
	if calls := accepter.calls(); len(calls) != 2 || len(calls[1]) != 8 {
		t.Errorf("groups %v, want the first alone and then the 8 that gathered meanwhile", calls)
	}
}

// A caller that leaves gets its own error; its intake is accepted all the same.
func TestDoorCompletesTheIntakeOfACallerThatLeft(t *testing.T) {
	accepter, release := blockedAccepter()
	var seen sync.Map
	d := newTestDoor(t, DoorConfig{Accepter: accepter, Observe: func(in Intake, o Outcome, _ time.Duration) { seen.Store(in.Refund.RefundID, o.Verdict) }})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := d.Accept(ctx, []Intake{doorIntake("r1")})
		gone <- err
	}()
	waitFor(t, "in progress", func() bool { return len(accepter.calls()) == 1 })
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	release()
	waitFor(t, "the item is accepted", func() bool { v, ok := seen.Load("r1"); return ok && v == Taken })
}

// Stop waits for everything in progress: the present group, the requests queued behind it, and a caller's group. Everybody
// gets an answer, and later requests are refused.
func TestDoorStopLosesNothing(t *testing.T) {
	accepter, release := blockedAccepter()
	d := newTestDoor(t, DoorConfig{Accepter: accepter, QueueWorkers: 1})
	under := acceptLater(d, doorIntake("under-way"))
	waitFor(t, "a group is in progress", func() bool { return len(accepter.calls()) == 1 })
	group := acceptLater(d, doorIntakes(3)...)
	waitFor(t, "a caller's group is in progress", func() bool { return len(accepter.calls()) == 2 })
	queued := acceptLater(d, doorIntake("queued"))
	waitFor(t, "one is queued", func() bool { return len(d.queue) == 1 })
	stopped := make(chan struct{})
	go func() {
		d.Stop()
		close(stopped)
	}()
	waitFor(t, "the Door is closed", func() bool {
		d.mu.RLock()
		defer d.mu.RUnlock()
		return d.closed
	})
	if _, err := d.Accept(t.Context(), doorIntakes(1)); !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("a single request after the end: %v, want ErrUnavailable", err)
	}
	if _, err := d.Accept(t.Context(), doorIntakes(2)); !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("a group after the end: %v, want ErrUnavailable", err)
	}
	select {
	case <-stopped:
		t.Error("Stop returned while transactions were in progress")
	case <-time.After(20 * time.Millisecond): // long enough to detect a Stop that does not wait
	}
	release()
	for what, a := range map[string]<-chan doorAnswer{"in progress": under, "group": group, "queued": queued} {
		got := <-a
		if got.err != nil || slices.ContainsFunc(got.out, func(o Outcome) bool { return o.Verdict != Taken }) {
			t.Errorf("%s: %+v, want Accepted", what, got)
		}
	}
	<-stopped
	d.Stop() // nothing to do the second time
}

// Items that would have to be tried again at Stop get ErrUnavailable, soon.
func TestDoorStopEndsRetries(t *testing.T) {
	accepter := &scriptedAccepter{answer: func(_ int, g []Intake) ([]Outcome, error) {
		return allAccepted(g, func(Intake) bool { return true })
	}}
	d := newTestDoor(t, DoorConfig{Accepter: accepter, Clock: (&manualClock{}).now})
	single, group := acceptLater(d, doorIntake("single")), acceptLater(d, doorIntakes(3)...)
	waitFor(t, "both try again", func() bool { return len(accepter.calls()) > 6 })
	d.Stop()
	for what, a := range map[string]<-chan doorAnswer{"single": single, "group": group} {
		if got := <-a; !errors.Is(got.err, refund.ErrUnavailable) {
			t.Errorf("%s: %+v, want ErrUnavailable", what, got)
		}
	}
}
