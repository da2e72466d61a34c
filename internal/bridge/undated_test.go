package bridge

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund/intake"
)

// The time of an event is its own, else the broker's. Without both it is parked, unless the bridge accepts undated events.
func TestUndatedEvents(t *testing.T) {
	for name, c := range map[string]struct {
		own, undated, allow bool
		at                  time.Time
		parked              string
	}{
		"its own time":                     {own: true, at: stored.Add(time.Hour)},
		"its own time, broker without":     {own: true, undated: true, at: stored.Add(time.Hour)},
		"the broker's":                     {at: stored},
		"none":                             {undated: true, parked: "event-undated"},
		"none, allowed":                    {undated: true, allow: true},
		"the broker's, undated ones taken": {allow: true, at: stored},
	} {
		m := validMessage("rf-1")
		if m.undated = c.undated; c.own {
			m.body = []byte(strings.Replace(string(m.body), `"source"`, `"time":"`+stored.Add(time.Hour).Format(time.RFC3339)+`","source"`, 1))
		}
		var mu sync.Mutex
		var at []time.Time
		door := newFakeDoor()
		door.decide = func(in intake.Intake, _ int) *intake.Result {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, in.OccurredAt)
			return nil
		}
		f := runBridge(t, newFakeBroker(m), door, func(cfg *Config) { cfg.Undated = c.allow })
		f.waitDrained()
		f.stop()
		if c.parked != "" {
			if got := f.store.reasons(); got[c.parked] != 1 || len(at) != 0 {
				t.Errorf("%s: parked %v, decided %v", name, got, at)
			}
			continue
		}
		if len(at) != 1 || !at[0].Equal(c.at) {
			t.Errorf("%s: time %v, want %s", name, at, c.at)
		}
	}
}

// The broker's time is stored with a parked message, so that the message is as old when it is processed again.
func TestBrokerTimeIsKeptWithParkedMessages(t *testing.T) {
	f := runBridge(t, newFakeBroker(), newFakeDoor(), nil)
	it := f.b.decode(&fakeDelivery{fakeMessage: validMessage("rf-1")})
	if it.parkReason != "" || !it.in.OccurredAt.Equal(stored) {
		t.Fatalf("parked for %q with time %s, want the broker's time", it.parkReason, it.in.OccurredAt)
	}
	again, err := Unpark(intake.ParkedMessage{Park: *it.in.Park})
	if err != nil || !again.OccurredAt.Equal(stored) {
		t.Errorf("time %s of the unparked message (%v), want the broker's", again.OccurredAt, err)
	}
	later := validMessage("rf-1")
	later.undated = true
	if other := f.b.decode(&fakeDelivery{fakeMessage: later}); other.in.Park.Position != it.in.Park.Position {
		t.Errorf("position %s without the broker's time and %s with it, want the same", other.in.Park.Position, it.in.Park.Position)
	}
}
