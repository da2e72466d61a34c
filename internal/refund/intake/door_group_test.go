package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// One item of a group causes an unexpected error: it alone gets the error, and all others an answer, in few transactions.
func TestDoorBisectsAfterAnUnexpectedError(t *testing.T) {
	for _, bad := range []string{"r000", "r007", "r031"} {
		accepter := &scriptedAccepter{answer: func(_ int, g []Intake) ([]Outcome, error) {
			if slices.Contains(refundIDs(g), bad) {
				return nil, errUnexpected
			}
			return allAccepted(g, nil)
		}}
		var seen sync.Map
		d := newTestDoor(t, DoorConfig{Accepter: accepter, Observe: func(in Intake, o Outcome, _ time.Duration) { seen.Store(in.Refund.RefundID, o.Verdict) }})
		_, err := d.Accept(t.Context(), doorIntakes(32))
		if !errors.Is(err, errUnexpected) {
			t.Errorf("item %s: error %v, want the unexpected one", bad, err)
		}
		n := 0
		seen.Range(func(any, any) bool { n++; return true })
		if n != 31 {
			t.Errorf("item %s: %d items were answered, want the 31 others", bad, n)
		}
		if calls := len(accepter.calls()); calls > 11 { // 1 + 2 for each halving of 32
			t.Errorf("item %s: %d transactions, want at most 11", bad, calls)
		}
	}
}

// While one half waits for a lock, the other half does not overtake it.
func TestDoorKeepsTheOrderWhenItBisects(t *testing.T) {
	tries := 0
	var done []string
	accepter := &scriptedAccepter{answer: func(_ int, g []Intake) ([]Outcome, error) {
		if len(g) > 2 {
			return nil, errUnexpected
		}
		out, err := allAccepted(g, func(in Intake) bool {
			if in.Refund.RefundID != "r000" {
				return false
			}
			tries++
			return tries < 3
		})
		for i, o := range out {
			if o.Verdict == Taken {
				done = append(done, g[i].Refund.RefundID)
			}
		}
		return out, err
	}}
	d := newTestDoor(t, DoorConfig{Accepter: accepter})
	mustAccept(t, d, doorIntakes(4)...)
	if want := []string{"r001", "r000", "r002", "r003"}; !slices.Equal(done, want) {
		t.Errorf("accepted in the order %v, want %v: r001 went with r000 and was free, the second half had to wait", done, want)
	}
}

// Intakes that are NotLocked are tried again with their ids and in their order, and nothing else is tried twice.
func TestDoorTriesLostItemsAgainInOrder(t *testing.T) {
	rids := map[string]refund.RID{}
	accepter := &scriptedAccepter{answer: func(call int, g []Intake) ([]Outcome, error) {
		for _, in := range g {
			if old, seen := rids[in.Refund.RefundID]; seen && old != in.RID {
				return nil, fmt.Errorf("%s came with another rid", in.Refund.RefundID)
			}
			rids[in.Refund.RefundID] = in.RID
		}
		return allAccepted(g, func(in Intake) bool { return call < 3 && in.Refund.RefundID >= "r002" && in.Refund.RefundID <= "r004" })
	}}
	d := newTestDoor(t, DoorConfig{Accepter: accepter})
	for i, o := range mustAccept(t, d, doorIntakes(8)...) {
		if o.Verdict != Taken {
			t.Errorf("item %d: %s", i, o.Verdict)
		}
	}
	for i, ids := range accepter.calls()[1:] {
		if want := []string{"r002", "r003", "r004"}; !slices.Equal(ids, want) {
			t.Errorf("try %d held %v, want %v", i+2, ids, want)
		}
	}
}

// A group longer than one transaction is processed in parts, in order.
func TestDoorCutsLongGroups(t *testing.T) {
	accepter := &scriptedAccepter{answer: func(_ int, g []Intake) ([]Outcome, error) { return allAccepted(g, nil) }}
	d := newTestDoor(t, DoorConfig{Accepter: accepter, MaxGroup: 5})
	if n := len(mustAccept(t, d, doorIntakes(12)...)); n != 12 {
		t.Errorf("%d outcomes, want 12", n)
	}
	var sizes []int
	for _, ids := range accepter.calls() {
		sizes = append(sizes, len(ids))
	}
	if !slices.Equal(sizes, []int{5, 5, 2}) {
		t.Errorf("transactions of %v items, want 5, 5, 2", sizes)
	}
	if n := len(mustAccept(t, d)); n != 0 {
		t.Errorf("%d outcomes of nothing", n)
	}
}

// The database is unavailable: everybody gets the error at once, and no group is bisected.
func TestDoorAnswersAllWhenTheStoreIsUnavailable(t *testing.T) {
	accepter := &scriptedAccepter{answer: func(int, []Intake) ([]Outcome, error) {
		return nil, fmt.Errorf("%w: down", refund.ErrUnavailable)
	}}
	d := newTestDoor(t, DoorConfig{Accepter: accepter})
	if _, err := d.Accept(t.Context(), doorIntakes(20)); !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("group: %v, want ErrUnavailable", err)
	}
	if n := len(accepter.calls()); n != 1 {
		t.Errorf("%d transactions for one group, want 1", n)
	}
	if _, err := d.Accept(t.Context(), doorIntakes(1)); !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("single: %v, want ErrUnavailable", err)
	}
}

// The accepter has run a group again after a lost COMMIT, in vain: the group may be stored, so it is not bisected.
func TestDoorGivesUpOnCommitsThatStayUnknown(t *testing.T) {
	accepter := &scriptedAccepter{answer: func(int, []Intake) ([]Outcome, error) {
		return nil, errors.Join(refund.ErrUnavailable, refund.ErrCommitUnknown)
	}}
	d := newTestDoor(t, DoorConfig{Accepter: accepter})
	if _, err := d.Accept(t.Context(), doorIntakes(2)); !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	if n := len(accepter.calls()); n != 1 {
		t.Errorf("%d runs, want 1 of the whole group and no bisecting", n)
	}
}

// An item whose locks stay held is Busy after BusyAfter, by the Door's clock, and not before.
func TestDoorBusyAfterTwoSeconds(t *testing.T) {
	for _, n := range []int{1, 3} { // through the queue, and as a caller's group
		clock := &manualClock{}
		accepter := &scriptedAccepter{answer: func(_ int, g []Intake) ([]Outcome, error) {
			return allAccepted(g, func(in Intake) bool { return in.Refund.RefundID == "r000" })
		}}
		d := newTestDoor(t, DoorConfig{Accepter: accepter, Clock: clock.now})
		answer := make(chan []Outcome, 1)
		go func() {
			out, err := d.Accept(context.Background(), doorIntakes(n))
			if err != nil {
				t.Error(err)
			}
			answer <- out
		}()
		waitFor(t, "the first try", func() bool { return len(accepter.calls()) > 0 })
		clock.advance(1900 * time.Millisecond)
		before := len(accepter.calls())
		waitFor(t, "five more tries", func() bool { return len(accepter.calls()) >= before+5 })
		select {
		case out := <-answer:
			t.Fatalf("answered before its time: %v", out)
		default:
		}
		clock.advance(200 * time.Millisecond)
		out := <-answer
		if out[0].Verdict != Busy || out[0].Code != refund.CodeInProgress {
			t.Errorf("%s %s, want BUSY %s", out[0].Verdict, out[0].Code, refund.CodeInProgress)
		}
	}
}

// A single item that meets a lock timeout is tried again.
func TestDoorTriesAgainAfterALockTimeout(t *testing.T) {
	accepter := &scriptedAccepter{answer: func(call int, g []Intake) ([]Outcome, error) {
		if call < 2 {
			return nil, fmt.Errorf("%w: lock timeout", refund.ErrBusy)
		}
		return allAccepted(g, nil)
	}}
	d := newTestDoor(t, DoorConfig{Accepter: accepter})
	wantVerdicts(t, mustAccept(t, d, doorIntake("r1")), Taken)
}

func wantVerdicts(t *testing.T, out []Outcome, want ...Verdict) {
	t.Helper()
	for i, w := range want {
		if out[i].Verdict != w {
			t.Errorf("item %d: %s %s, want %s", i, out[i].Verdict, out[i].Code, w)
		}
	}
}
