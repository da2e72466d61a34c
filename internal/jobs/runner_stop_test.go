package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/migrate"
)

func TestRunnerStopDrains(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	inside, goOn := make(chan struct{}), make(chan struct{})
	b.channel.onSend = func(_ int, c refund.Call, effect func() string) refund.Answer {
		close(inside)
		<-goOn
		return paid(c, effect())
	}
	r := b.start(t)
	k := b.accept(t, 1)[0]
	<-inside
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		stopped <- r.Stop(ctx)
	}()
	select {
	case err := <-stopped:
		t.Fatalf("Stop returned while a call was under way: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	close(goOn)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if r := b.load(t, k); r.State != refund.StateSuccess {
		t.Errorf("state %s: the answer of the call must be stored", r.State)
	}
	if err := r.CheckNow(t.Context(), k); !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("check after stop: %v", err)
	}
}

func TestRunnerClientPanics(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	b.channel.onSend = func(n int, c refund.Call, effect func() string) refund.Answer {
		effect()
		if n == 1 {
			panic("a bug in a client")
		}
		return paid(c, effect())
	}
	b.start(t)
	k := b.accept(t, 1)[0]
	b.wantAll(t, []refund.RefundRef{k}, refund.StateSuccess)
	if r := b.load(t, k); r.Attempts[0].Answer != refund.Unknown || r.Attempts[1].Kind != refund.AttemptQuery {
		t.Errorf("attempts %+v: want a query after a panic, which proves nothing", r.Attempts)
	}
}

// TestRunnerSurvivesDatabase stops and starts PostgreSQL; nothing else is restarted.
func TestRunnerSurvivesDatabase(t *testing.T) {
	t.Parallel()
	db := dbtest.Server(t, nil)
	if _, err := migrate.Up(t.Context(), migrate.Config{URL: db.URL()}); err != nil {
		t.Fatal(err)
	}
	b := benchOn(t, db.URL(), testContract())
	released := make(chan struct{})
	inside := make(chan struct{})
	b.channel.onSend = func(n int, c refund.Call, effect func() string) refund.Answer {
		if n == 1 {
			close(inside)
			<-released
		}
		return paid(c, effect())
	}
	b.start(t)
	keys := b.accept(t, 1)
	<-inside
	if err := db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(released) // the answer comes during the outage
	eventually(t, "the database is unavailable", func() bool { return b.pool.Ping(t.Context()) != nil })
	if err := db.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantAll(t, keys, refund.StateSuccess)
	if sends, _, effects := b.channel.counts(); sends != 1 || effects != 1 {
		t.Errorf("%d sends, %d effects, want one of each", sends, effects)
	}
}
