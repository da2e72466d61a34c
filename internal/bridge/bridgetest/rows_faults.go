package bridgetest

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/store/migrate"
)

func crashBeforeAck(w *suite) { crashed(w, false) }

func crashAfterCommit(w *suite) {
	crashed(w, true)
	if n := w.seen.count("cause redelivery"); n == 0 {
		w.Error("no replay by redelivery, want the messages that were committed before the crash to be delivered again")
	}
}

func crashed(w *suite, after bool) {
	via := newProxy(w, w.broker)
	w.publish(messages(0, 20)...)
	cfg := w.config(via.route)
	g := newPausingDoor(w.door, after)
	cfg.Door = g
	first := w.start(cfg)
	w.waitClosed(g.reached, "a group reaches the Door")
	w.crash(first, via)
	if lag := w.broker.Lag(w, consumer); lag != 20 {
		w.Errorf("%d messages wait at the broker, want 20: no message is acknowledged before its COMMIT is known", lag)
	}
	w.start(w.config(nil))
	w.waitSettled()
	w.want(20, 20, 0, 0)
}

func secondProcess(w *suite) {
	w.publish(messages(0, 50)...)
	cfg := w.config(nil)
	g := newPausingDoor(w.door, false)
	cfg.Door, cfg.MaxBatch = g, w.batch(20) // it holds at most three groups: deciding, acknowledging, fetching
	w.start(cfg)
	w.waitClosed(g.reached, "a group reaches the Door of the first process")
	w.start(w.config(nil))
	w.publish(messages(50, 100)...)
	w.waitFor("the second process works while the first one holds its groups", func() bool { return w.refunds() >= 50 })
	close(g.goOn)
	w.waitSettled()
	w.want(100, 100, 0, 0)
}

func consumerDeleted(w *suite) {
	w.publish(messages(0, 20)...)
	w.start(w.config(nil))
	w.waitSettled()
	w.broker.DeleteConsumer(w, consumer)
	w.publish(messages(20, 40)...)
	w.waitFor("the bridge has created its consumer again", func() bool { return w.refunds() == 40 })
	w.waitSettled()
	w.want(40, 40, 0, 0)
}

func brokerKilled(w *suite) {
	w.publish(messages(0, 300)...)
	w.start(w.config(nil))
	w.waitFor("the bridge has decided some messages", func() bool { return w.refunds() > 0 })
	w.broker.Kill(w)
	w.broker.Start(w)
	w.publish(messages(300, 400)...)
	w.waitSettled()
	w.want(400, 400, 0, 0)
}

func blackHole(w *suite) {
	via := newProxy(w, w.broker)
	w.start(w.config(via.route))
	w.publish(messages(0, 10)...)
	w.waitSettled()
	via.set(blackholed)
	w.publish(messages(10, 20)...)
	dials := via.dialed()
	w.waitFor("the bridge connects again", func() bool { return via.dialed() > dials })
	via.set(passing)
	w.waitFor("the messages published meanwhile are decided", func() bool { return w.refunds() == 20 })
	w.waitSettled()
	w.want(20, 20, 0, 0)
}

// publishHang is a peer that stops reading. Publishing ends with an error, repeated events are replays, and the acknowledgements of
// the bridge do not hang.
func publishHang(w *suite) {
	via := newProxy(w, w.broker)
	w.start(w.config(via.route))
	w.publish(messages(0, 10)...)
	w.waitSettled()
	via.set(stalled)
	fat := make([]Message, 0, 40)
	for i := 10; i < 50; i++ {
		m := eventNo(i).message()
		m.TransportID = fmt.Sprintf("t-%d", i)
		m.Body = append(m.Body, bytes.Repeat([]byte(" "), 500<<10)...)
		fat = append(fat, m)
	}
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
	defer cancel()
	if _, err := w.broker.Publish(ctx, via.route, fat...); err == nil {
		w.Error("publishing to a peer that does not read succeeded, want an error")
	}
	w.publish(messages(50, 60)...)
	via.set(passing)
	w.publish(fat...)
	w.waitFor("the bridge continues", func() bool { return w.refunds() == 60 })
	w.waitSettled()
	w.want(60, 60, 0, 0)
}

// postgresDown stops the database while messages arrive. The broker keeps them, none is parked, and memory does not grow.
func postgresDown(w *suite) {
	db := dbtest.Server(w, nil)
	if _, err := migrate.Up(w.Context(), migrate.Config{URL: db.URL()}); err != nil {
		w.Fatal(err)
	}
	w.installation = newInstallation(w, db.URL())
	b := w.start(w.config(nil))
	w.publish(messages(0, 100)...)
	w.waitSettled()
	if err := db.Stop(w.Context()); err != nil {
		w.Fatal(err)
	}
	before := heap()
	more := sized(600, 3000)
	w.publish(messages(100, 100+more)...)
	outage := time.NewTimer(max(3*w.broker.AckWait(), sized(0, time.Minute)))
	<-outage.C
	grown := heap() - before
	if lag := w.broker.Lag(w, consumer); lag != more {
		w.Errorf("%d messages wait at the broker, want %d: no message is acknowledged while the database is unavailable", lag, more)
	}
	if grown > 32<<20 {
		w.Errorf("the heap grew by %d bytes during the outage, want at most 32 MiB", grown)
	}
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	if err := db.Restart(ctx); err != nil {
		w.Fatal(err)
	}
	w.waitFor("all messages are decided", func() bool { return w.refunds() == 100+more })
	w.waitSettled()
	w.want(100+more, 100+more, 0, 0)
	if n := w.count(`SELECT count(*) FROM parked`); n != 0 {
		w.Errorf("%d messages were parked during the outage, want none", n)
	}
	w.Logf("the heap grew by %d KiB; %d deliveries were replays", grown>>10, w.seen.count("REPLAYED"))
	w.stop(b)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) // #nosec G115 -- far below the limit
}

func gracefulStop(w *suite) {
	w.publish(messages(0, 100)...)
	cfg := w.config(nil)
	g := newPausingDoor(w.door, false)
	cfg.Door = g
	cfg.MaxBatch = w.batch(30)
	b := w.start(cfg)
	w.waitClosed(g.reached, "a group reaches the Door")
	stopped := make(chan struct{})
	go func() { w.stop(b); close(stopped) }()
	close(g.goOn)
	w.waitClosed(stopped, "the bridge has drained")
	done := w.refunds()
	if lag := w.broker.Lag(w, consumer); done == 0 || lag != 100-done {
		w.Errorf("%d refunds and %d messages at the broker after the stop, want the rest of 100 and at least one group done", done, lag)
	}
	w.start(w.config(nil))
	w.waitSettled()
	w.want(100, 100, 0, 0)
	if n := w.seen.count("REPLAYED"); n != 0 {
		w.Errorf("%d replays, want 0: a graceful stop acknowledges all committed messages", n)
	}
}
