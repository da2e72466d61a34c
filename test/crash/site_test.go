package crash

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/test/e2e/harness"
)

// site is one `refundry dev` that is killed many times, with its callers.
type site struct {
	t     *testing.T
	dev   *harness.Dev
	api   string
	sim   string
	nats  string
	load  *load
	kills int

	anchors  string         // the file
	byOthers map[string]int // foreign sends under a number of ours
}

// ports returns ports below the range of outgoing connections, so that no other program takes one while the program is
// down.
var ports atomic.Int64

func port(t *testing.T) string {
	t.Helper()
	for range 2000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 21000+(time.Now().UnixNano()/1000+ports.Add(37))%10000)
		l, err := net.Listen("tcp", addr)
		if err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("there is no free port")
	return ""
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, api: port(t), sim: port(t), nats: port(t), anchors: filepath.Join(t.TempDir(), "anchors.jsonl"), byOthers: map[string]int{}}
	s.dev = harness.NewDev(t, "--anchor-every", "1s", "--anchor-file", s.anchors, "--faults", channelFaults, "--open-case-after", "20s", "--listen",
		s.api, "--simulator", s.sim, "--nats", s.nats)
	s.dev.Start()
	return s
}

// runArmed runs the program until it kills itself at the n-th pass of a point. false = it did not pass it so often and was
// killed from outside.
func (s *site) runArmed(p place, n int) bool {
	s.t.Helper()
	s.dev.LaunchArmed(fmt.Sprintf("%s:%d", p.name, n))
	return s.waitKilled(p)
}

// waitKilled waits for the end of a program that is armed.
func (s *site) waitKilled(p place) bool {
	s.t.Helper()
	proc := s.dev.Process()
	s.kills++
	if !proc.EndedWithin(p.wait) {
		proc.Kill()
		return false
	}
	for line := range strings.Lines(proc.Tail()) {
		if at, ok := fault.Killed(line); ok && at == p.name {
			return true
		}
	}
	s.t.Fatalf("the program ended, but not at %s:\n%s", p.name, proc.Tail())
	return false
}

// channel is another caller of the channel.
func (s *site) channel() *harness.Client {
	return harness.NewClient(s.t, func() string { return "http://" + s.sim }, "none")
}

// settle starts the program unarmed, ends the load and waits until every refund that was reported as accepted exists (P5),
// and every refund is final or has a case.
func (s *site) settle() time.Duration {
	s.t.Helper()
	began := time.Now()
	s.dev.Start()
	s.load.end()
	db, ctx := s.dev.DB(), s.t.Context()
	harness.Eventually(s.t, 4*time.Minute, "every refund is final or has a case, and nothing waits for its payment", func() (bool, string) {
		open := db.Text(ctx, `SELECT string_agg(account || ' ' || state || ' ' || n, ', ') FROM
			(SELECT account, state, count(*) n FROM refunds WHERE case_id IS NULL AND (final_at IS NULL OR exposed) GROUP BY 1, 2) x`)
		waiting := db.Int(ctx, `SELECT count(*) FROM parked WHERE wake_payment IS NOT NULL AND done_at IS NULL`)
		lost := s.lost() // the broker redelivers the messages of a killed process after a while
		return open == "" && waiting == 0 && len(lost) == 0, fmt.Sprintf("open: %s; waiting: %d; reported as accepted, but missing: %v", open, waiting, lost)
	})
	return time.Since(began)
}

// lost returns the refunds that were reported as accepted and are not in the database, the first ten.
func (s *site) lost() []string {
	s.t.Helper()
	s.load.mu.Lock()
	ids := slices.Clone(s.load.ids)
	s.load.mu.Unlock()
	text := s.dev.DB().Text(s.t.Context(), `SELECT string_agg(id, ' ') FROM (SELECT id FROM unnest($1::text[]) id
		WHERE NOT EXISTS (SELECT FROM refunds WHERE refund_id = id) LIMIT 10) x`, ids)
	return strings.Fields(text)
}
