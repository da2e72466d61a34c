package bridge

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is a bridge with its fakes.
type harness struct {
	*testing.T
	*fakeBroker
	door  *fakeDoor
	store *fakeStore
	b     *Bridge
}

// runBridge starts a bridge with short pauses; tune changes its configuration.
func runBridge(t *testing.T, broker *fakeBroker, door *fakeDoor, tune func(*Config)) *harness {
	t.Helper()
	f := &harness{T: t, fakeBroker: broker, door: door, store: newFakeStore()}
	cfg := Config{Name: "orders", Broker: "fake", Open: broker.open, Door: door,
		ParkedMessages: f.store, Deliveries: f.store, Tenants: fakeTenants{}, Allowed: []string{"demo"},
		Retry: time.Millisecond, HoldEvery: 5 * time.Millisecond}
	if tune != nil {
		tune(&cfg)
	}
	var err error
	if f.b, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	if err := f.b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.stop() })
	return f
}

func (f *harness) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := f.b.Stop(ctx); err != nil {
		f.Errorf("stop: %v", err)
	}
}

// waitFor waits for a condition, which is evaluated under the broker's lock.
func (f *harness) waitFor(what string, ok func() bool) {
	f.Helper()
	end := time.NewTimer(20 * time.Second)
	defer end.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		f.mu.Lock()
		done := ok()
		f.mu.Unlock()
		if done {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			f.Fatalf("timeout waiting for: %s (left %d, acked %v, parked %v)", what, len(f.left), f.acked, f.store.reasons())
		}
	}
}

func (f *harness) waitDrained() {
	f.Helper()
	f.waitFor("all messages are acknowledged", func() bool { return len(f.left) == 0 })
}
