package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/store"
)

// restoredAccounts are accounts of which half can be queried.
var restoredAccounts = []string{"demo", "demo", "demo-list-and-match", "demo-key-replay-only", "demo-blind"}

// TestRestoredBackupSendsNothingTwice restores a backup to a point before 50 sends and starts the service on it. Requests
// that the restore has lost are repeated, some before and some after sending resumes. None of them is sent: the channel is
// queried, or a case is opened. C35.
func TestRestoredBackupSendsNothingTwice(t *testing.T) {
	t.Parallel()
	b := startBackedUp(t)
	s := newRestoreSite(t, b.db.URL())
	url := s.sendAndRestore(b)
	t.Cleanup(s.start(url, true))
	if !one[bool](t, url, `SELECT sending_held_since IS NOT NULL FROM installation`) {
		t.Fatal("the timeline has changed, but sending is not held")
	}
	s.askAll("lost", 0, 20) // requests are still accepted
	until(t, time.Minute, "every refund waits for the epoch", func() bool {
		return one[int](t, url, `SELECT count(*) FROM refunds WHERE state = 'PENDING' AND pending_reason = 'sending-held'`) == 45
	})
	s.wantSends(50)

	out, err := run("epoch", "expose", "--yes", "--json", "--mark-new-for", "1h", "--database-url", url)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var e store.EpochState
	if err := json.Unmarshal([]byte(out), &e); err != nil || e.Epoch != 2 || e.Moved || e.HeldSince != nil || e.Unmarked != 0 {
		t.Fatalf("after expose: %v %s", err, out)
	}
	s.askAll("lost", 20, 25) // sending has resumed, but this id may not be new
	s.ask("new", "demo")     // this one is new
	s.wantEnds(url)
	for sql, want := range map[string]int{
		`SELECT count(*) FROM refunds WHERE state = 'SUCCESS' AND case_id IS NULL AND account IN ('demo', 'demo-list-and-match')`:            31,
		`SELECT count(*) FROM refunds WHERE state = 'UNKNOWN' AND case_id IS NOT NULL AND account IN ('demo-key-replay-only', 'demo-blind')`: 20,
		`SELECT count(*) FROM attempts WHERE kind = 'SEND' AND rid NOT IN (SELECT rid FROM refunds WHERE refund_id = 'new')`:                 0,
		`SELECT count(*) FROM refunds r WHERE NOT EXISTS (SELECT FROM dispatches d WHERE d.rid = r.rid AND d.no = 2 AND d.marked_epoch = 2)`: 0,
		`SELECT dispatch_no FROM refunds WHERE refund_id = 'new'`:                                                                            3,
	} {
		if n := one[int](t, url, sql); n != want {
			t.Errorf("%s: %d, want %d", sql, n, want)
		}
	}
	s.wantSends(51)
	s.wantPromises(url)
}

// sendAndRestore makes 50 sends after the backup's point in time, stops the server, and returns the URL of the restored
// one, which has 25 of the refunds, without their sends.
func (s *restoreSite) sendAndRestore(b *backedUp) (url string) {
	t := s.t
	stop := s.start(b.db.URL(), false) // accepts requests, sends nothing
	s.askAll("old", 0, 25)
	backup := b.backup()
	one[string](t, b.db.URL(), `SELECT pg_create_restore_point('before')::text`)
	stop()
	stop = s.start(b.db.URL(), true)
	s.askAll("lost", 0, 25)
	until(t, time.Minute, "50 refunds succeed", func() bool {
		return one[int](t, b.db.URL(), `SELECT count(*) FROM refunds WHERE state = 'SUCCESS'`) == 50
	})
	s.wantSends(50)
	stop()
	b.archived()
	if err := b.db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	url = b.restore(backup, "before").URL()
	if n := one[int](t, url, `SELECT count(*) FROM refunds WHERE state = 'PENDING' AND attempt_no = 0`); n != 25 {
		t.Fatalf("%d refunds are restored, want 25 without a known send", n)
	}
	return url
}
