package main

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
)

// TestTakenAddressClaimsNothing starts a worker process whose address is taken while a refund waits for a worker. The
// process fails before its workers start; a process that can listen then works the refund.
func TestTakenAddressClaimsNothing(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	s := newRestoreSite(t, url)
	defer s.start(url, false)() // accepts requests, sends nothing
	s.ask("rf_1", "demo")

	cfg := s.app.cfg
	cfg.worker, cfg.listen = true, s.app.server.Addr().String()
	a, err := newApp(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.start(t.Context()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("start says %v, want that the address is in use", err)
	}
	if err := a.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	const begun = `SELECT (SELECT count(*) FROM river_queue) + (SELECT count(*) FROM attempts)`
	if n := one[int](t, url, begun); n != 0 {
		t.Errorf("%d queues and attempts, want none: the workers started although the address is taken", n)
	}

	cfg.listen = "127.0.0.1:0"
	if a, err = newApp(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := a.start(t.Context()); err != nil {
		t.Error(err)
	}
	until(t, time.Minute, "the refund succeeds", func() bool {
		return one[int](t, url, `SELECT count(*) FROM refunds WHERE state = 'SUCCESS'`) == 1
	})
	if n := one[int](t, url, begun); n < 2 {
		t.Errorf("%d queues and attempts, want at least one of each: otherwise the check above proves nothing", n)
	}
	if err := a.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}
