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

// blockedAccepter answers only when it is let go.
func blockedAccepter() (gate *scriptedAccepter, letGo func()) {
	open := make(chan struct{})
	gate = &scriptedAccepter{answer: func(_ int, g []Intake) ([]Outcome, error) {
		<-open
		return allAccepted(g, nil)
	}}
	return gate, sync.OnceFunc(func() { close(open) })
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

// What queues while a group commits forms the next one; what does not fit is told so at once.
func TestDoorGathersAndRefusesWhenFull(t *testing.T) {
	gate, letGo := blockedAccepter()
	defer letGo()
	d := newTestDoor(t, DoorConfig{Accepter: gate, Queue: 8, Flushers: 1})
	answers := []<-chan doorAnswer{acceptLater(d, doorIntake("first"))}
	waitFor(t, "the first is under way", func() bool { return len(gate.calls()) == 1 })
	for _, in := range doorIntakes(8) {
		answers = append(answers, acceptLater(d, in))
	}
	waitFor(t, "the queue is full", func() bool { return len(d.queue) == 8 })
	if _, err := d.Accept(t.Context(), doorIntakes(1)); !errors.Is(err, refund.ErrOverloaded) {
		t.Errorf("%v, want ErrOverloaded", err)
	}
	letGo()
	for _, a := range answers {
		if got := <-a; got.err != nil || got.out[0].Verdict != Taken {
			t.Errorf("%+v, want Accepted", got)
		}
	}
	if calls := gate.calls(); len(calls) != 2 || len(calls[1]) != 8 {
		t.Errorf("groups %v, want the first alone and then the 8 that gathered meanwhile", calls)
	}
}

// A caller that leaves gets its own error; its item goes through all the same.
func TestDoorCommitsForACallerThatLeft(t *testing.T) {
	gate, letGo := blockedAccepter()
	var seen sync.Map
	d := newTestDoor(t, DoorConfig{Accepter: gate, Observe: func(in Intake, o Outcome, _ time.Duration) { seen.Store(in.Refund.RefundID, o.Verdict) }})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := d.Accept(ctx, []Intake{doorIntake("r1")})
		gone <- err
	}()
	waitFor(t, "under way", func() bool { return len(gate.calls()) == 1 })
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	letGo()
	waitFor(t, "the item is accepted", func() bool { v, ok := seen.Load("r1"); return ok && v == Taken })
}

// Stop waits for whatever is inside: the group under way, what queued behind it, and a walk-in group; nobody is left without
// an answer, and nobody gets in afterwards.
func TestDoorStopLosesNothing(t *testing.T) {
	gate, letGo := blockedAccepter()
	d := newTestDoor(t, DoorConfig{Accepter: gate, Flushers: 1})
	under := acceptLater(d, doorIntake("under-way"))
	waitFor(t, "a group is under way", func() bool { return len(gate.calls()) == 1 })
	walkIn := acceptLater(d, doorIntakes(3)...)
	waitFor(t, "a walk-in group is under way", func() bool { return len(gate.calls()) == 2 })
	queued := acceptLater(d, doorIntake("queued"))
	waitFor(t, "one is queued", func() bool { return len(d.queue) == 1 })
	stopped := make(chan struct{})
	go func() {
		d.Stop()
		close(stopped)
	}()
	waitFor(t, "the door is shut", func() bool {
		d.mu.RLock()
		defer d.mu.RUnlock()
		return d.closed
	})
	if _, err := d.Accept(t.Context(), doorIntakes(1)); !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("a single request after the end: %v, want ErrUnavailable", err)
	}
	if _, err := d.Accept(t.Context(), doorIntakes(2)); !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("a walk-in group after the end: %v, want ErrUnavailable", err)
	}
	select {
	case <-stopped:
		t.Error("Stop came back while transactions were under way")
	case <-time.After(20 * time.Millisecond): // long enough to catch a Stop that does not wait
	}
	letGo()
	for what, a := range map[string]<-chan doorAnswer{"under way": under, "walk-in": walkIn, "queued": queued} {
		got := <-a
		if got.err != nil || slices.ContainsFunc(got.out, func(o Outcome) bool { return o.Verdict != Taken }) {
			t.Errorf("%s: %+v, want Accepted", what, got)
		}
	}
	<-stopped
	d.Stop() // again: nothing to do
}

// What would have to try again when the door shuts is told to come back, soon.
func TestDoorStopEndsRetries(t *testing.T) {
	gate := &scriptedAccepter{answer: func(_ int, g []Intake) ([]Outcome, error) {
		return allAccepted(g, func(Intake) bool { return true })
	}}
	d := newTestDoor(t, DoorConfig{Accepter: gate, Clock: (&manualClock{}).now})
	single, group := acceptLater(d, doorIntake("single")), acceptLater(d, doorIntakes(3)...)
	waitFor(t, "both try again", func() bool { return len(gate.calls()) > 6 })
	d.Stop()
	for what, a := range map[string]<-chan doorAnswer{"single": single, "group": group} {
		if got := <-a; !errors.Is(got.err, refund.ErrUnavailable) {
			t.Errorf("%s: %+v, want ErrUnavailable", what, got)
		}
	}
}
