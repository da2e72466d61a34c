package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

func TestMessagesAreDecidedAndAcknowledgedInOrder(t *testing.T) {
	f := runBridge(t, newFakeBroker(validMessages(0, 300)...), newFakeDoor(), func(c *Config) { c.MaxBatch = 50 })
	f.waitDrained()
	f.stop()
	var order []string
	for _, g := range f.door.groups {
		if len(g) > 50 {
			t.Errorf("group of %d, want at most 50", len(g))
		}
		order = append(order, g...)
	}
	for i, id := range order {
		if want := fmt.Sprintf("rf-%d", i); id != want {
			t.Fatalf("refund %d at the Door is %s, want %s: groups are decided in the broker's order", i, id, want)
		}
	}
	if len(f.store.deliveries) != 300 || f.store.deliveries[0].RID.IsZero() || f.store.deliveries[0].Transport != "fake:q/rf-0#1" {
		t.Errorf("%d deliveries recorded, first %+v; want 300, each with its refund and its transport", len(f.store.deliveries), f.store.deliveries[0])
	}
}

// M5: a message is acknowledged only after a known verdict.
func TestZeroResultIsNotAcknowledged(t *testing.T) {
	door := newFakeDoor()
	var answer atomic.Bool
	door.decide = func(in intake.Intake, _ int) *intake.Result {
		if in.Refund.RefundID == "rf-1" && !answer.Load() {
			return &intake.Result{}
		}
		return nil
	}
	f := runBridge(t, newFakeBroker(validMessages(0, 3)...), door, func(c *Config) { c.GiveUp = 1 << 20 })
	f.waitFor("the other messages are acknowledged", func() bool { return len(f.acked) == 2 })
	if slices.Contains(f.acked, "q/rf-1") {
		t.Error("a zero result without an error was acknowledged")
	}
	answer.Store(true)
	f.waitDrained()
}

// M5: with every error of an unavailable database, no message is acknowledged, given up or fetched.
func TestMessagesAreHeldWhileTheDatabaseIsUnavailable(t *testing.T) {
	for name, away := range map[string]error{"unavailable": refund.ErrUnavailable, "overloaded": refund.ErrOverloaded,
		"commit unknown": refund.ErrCommitUnknown, "deadline": context.DeadlineExceeded} {
		t.Run(name, func(t *testing.T) {
			door := newFakeDoor()
			var back atomic.Bool
			var tries atomic.Int32
			door.fail = func() error {
				if tries.Add(1); back.Load() {
					return nil
				}
				return away
			}
			f := runBridge(t, newFakeBroker(validMessages(0, 100)...), door, func(c *Config) { c.MaxBatch = 10 })
			f.waitFor("messages are renewed more than once", func() bool { return f.holds > 40 && tries.Load() > 12 })
			f.waitFor("no message is lost", func() bool { return len(f.left) == 100 && len(f.acked) == 0 && len(f.given) <= 20 && f.openings == 1 })
			back.Store(true)
			f.waitDrained()
			if len(f.store.parked) != 0 {
				t.Errorf("parked %v during an outage, want none", f.store.parked)
			}
			for _, m := range f.store.deliveries {
				if m.Outcome != string(intake.Taken) {
					t.Errorf("delivery %+v, want TAKEN at the first delivery", m)
				}
			}
		})
	}
}

func TestStopReturnsMessagesThatCannotBeStored(t *testing.T) {
	door := newFakeDoor()
	tried := make(chan struct{}, 1000)
	door.fail = func() error {
		select {
		case tried <- struct{}{}:
		default:
		}
		return refund.ErrUnavailable
	}
	f := runBridge(t, newFakeBroker(validMessages(0, 5)...), door, nil)
	<-tried
	f.stop()
	if len(f.left) != 5 || f.closes != 1 {
		t.Errorf("%d of 5 messages left and %d sources closed, want 5 and 1", len(f.left), f.closes)
	}
}

func TestStopEndsAHangingDoor(t *testing.T) {
	door := newFakeDoor()
	reached := make(chan struct{})
	hang := doorFunc(func(ctx context.Context, g []intake.Intake) ([]intake.Result, error) {
		close(reached)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	f := runBridge(t, newFakeBroker(validMessage("rf-1")), door, func(c *Config) { c.Door = hang })
	<-reached
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.b.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Stop: %v, want context.Canceled", err)
	}
	if len(f.left) != 1 {
		t.Error("a message that was not decided is acknowledged")
	}
}

type doorFunc func(context.Context, []intake.Intake) ([]intake.Result, error)

func (d doorFunc) AcceptEach(ctx context.Context, g []intake.Intake) ([]intake.Result, error) {
	return d(ctx, g)
}

func TestStopFinishesTheGroupAtTheDoor(t *testing.T) {
	door := newFakeDoor()
	reached, goOn := make(chan struct{}), make(chan struct{})
	slow := doorFunc(func(ctx context.Context, g []intake.Intake) ([]intake.Result, error) {
		close(reached)
		<-goOn
		return door.AcceptEach(ctx, g)
	})
	f := runBridge(t, newFakeBroker(validMessages(0, 3)...), door, func(c *Config) { c.Door = slow })
	<-reached
	stopped := make(chan struct{})
	go func() { f.stop(); close(stopped) }()
	<-f.b.accepting.Done()
	close(goOn)
	<-stopped
	if len(f.left) != 0 {
		t.Errorf("%d messages left after a graceful stop, want none: all were committed", len(f.left))
	}
}

// M4 for brokers: messages that came together with an error are not skipped.
func TestMessagesThatCameWithAnErrorAreProcessed(t *testing.T) {
	broker := newFakeBroker(validMessages(0, 5)...)
	broker.fetchErr = []error{errors.New("connection lost within a batch"), nil, errors.New("again")}
	broker.openErr = []error{nil, errors.New("not yet"), nil}
	f := runBridge(t, broker, newFakeDoor(), nil)
	f.waitDrained()
	f.publish(validMessages(5, 10)...)
	f.waitDrained()
	f.waitFor("failed sources are replaced", func() bool { return f.openings >= 3 })
	if len(f.door.known) != 10 {
		t.Errorf("%d refunds, want 10", len(f.door.known))
	}
}

func TestFailedAcknowledgementClosesTheSource(t *testing.T) {
	broker := newFakeBroker(validMessages(0, 5)...)
	broker.ackErr["q/rf-2"] = 2
	f := runBridge(t, broker, newFakeDoor(), nil)
	f.waitDrained()
	f.stop()
	if f.openings != 3 || f.staleAcks != 0 {
		t.Errorf("%d sources and %d stale acknowledgements, want 3 and 0", f.openings, f.staleAcks)
	}
	var redelivered int
	for _, d := range f.store.deliveries {
		if d.Outcome == string(intake.Replayed) && d.Cause == CauseRedelivery {
			redelivered++
		}
	}
	if redelivered == 0 || f.door.known["rf-0"] != 1 {
		t.Errorf("%d redeliveries recorded and rf-0 decided %d times, want some and once: it was acknowledged", redelivered, f.door.known["rf-0"])
	}
}

func TestRateLimit(t *testing.T) {
	begin := time.Now()
	f := runBridge(t, newFakeBroker(validMessages(0, 30)...), newFakeDoor(), func(c *Config) { c.Rate, c.MaxBatch = 100, 10 })
	f.waitDrained()
	f.stop()
	if took := time.Since(begin); took < 190*time.Millisecond {
		t.Errorf("30 messages at 100 a second, the first 10 at once, took %s; want 0.2 s at least", took)
	}
	for _, g := range f.door.groups {
		if len(g) > 10 {
			t.Errorf("group of %d, want at most 10: the rate allows no more at once", len(g))
		}
	}
}

func TestIncompleteConfigIsRefused(t *testing.T) {
	good := Config{Name: "orders", Open: newFakeBroker().open, Door: newFakeDoor(), ParkedMessages: newFakeStore(), Deliveries: newFakeStore(),
		Tenants: fakeTenants{}, Allowed: []string{"demo"}}
	for name, change := range map[string]func(*Config){
		"no name":       func(c *Config) { c.Name = "" },
		"reserved name": func(c *Config) { c.Name = intake.ConsumerEvents },
		"no source":     func(c *Config) { c.Open = nil },
		"no tenant":     func(c *Config) { c.Allowed = nil },
	} {
		c := good
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}
