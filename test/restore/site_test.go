package restore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// The accounts, as the simulator knows them. What is asked of the blind one can be neither repeated nor queried.
const (
	blind     = "demo-blind"
	queryable = "demo"
)

// site is an installation with two accounts at one channel.
type site struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // that of one test
	channel *harness.Simulator
	config  string
	key     string
	lost    []string // the refunds that are paid after the backup

	because string // of the hold
}

func newSite(t *testing.T, url string) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	t.Cleanup(cancel)
	s := &site{t: t, ctx: ctx, channel: harness.StartSimulator(t)}
	harness.MustVerb(t, "migrate", "--database-url", url)
	harness.AddTenant(t, url, "shop")
	s.key = harness.AddKey(t, url, "shop", "checkout", "refunds:write,refunds:read")
	s.config = "accounts:\n"
	for account, profile := range map[string]string{blind: "blind", queryable: "keyed-queryable"} {
		s.config += fmt.Sprintf("  %s: {channel: plain, endpoint: http://%s, tenants: [shop], contract: {profile: %s}}\n", account, s.channel.Addr(), profile)
	}
	return s
}

func (s *site) serve(url, roles string, more ...string) *harness.Replica {
	s.t.Helper()
	return harness.Serve(s.t, url, s.config, roles, more...)
}

// stop drains a process.
func (s *site) stop(r *harness.Replica) {
	s.t.Helper()
	r.Terminate()
	if code, err := r.Wait(harness.Patience); err != nil || code != 0 {
		s.t.Fatalf("stop: exit %d, %v", code, err)
	}
}

// accept accepts the refunds that the restore will find not yet sent.
func (s *site) accept(url string) {
	s.t.Helper()
	api := s.serve(url, "api")
	client := api.Client(s.key)
	for _, account := range []string{blind, queryable} {
		id := "lost-" + account
		client.Accept(s.ctx, harness.Request{RefundID: id, OrderID: "ord-" + id, PaymentID: "pay-" + id, Amount: 100, Currency: "USD",
			Payment: &harness.Snapshot{OrderID: "ord-" + id, Amount: 1000, Currency: "USD", ChannelAccount: account}})
		s.lost = append(s.lost, id)
	}
	s.stop(api)
}

// pay starts a process and waits until it has paid what the restore will lose.
func (s *site) pay(url string, more ...string) *harness.Replica {
	s.t.Helper()
	worker := s.serve(url, "api,worker", more...)
	for _, id := range s.lost {
		worker.Client(s.key).UntilState(s.ctx, id, "SUCCESS", time.Minute)
	}
	s.wantPaidOnce()
	return worker
}

// wantPaidOnce checks the channel's record.
func (s *site) wantPaidOnce() {
	s.t.Helper()
	effects := s.channel.Sim().Effects(s.ctx)
	if len(effects) != len(s.lost) {
		s.t.Errorf("the channel has %d effects, want %d: %+v", len(effects), len(s.lost), effects)
	}
	for _, e := range effects {
		if e.Requests != 1 || !slices.Contains(s.lost, e.RefundID) {
			s.t.Errorf("the channel saw %d sends of %s, want 1", e.Requests, e.RefundID)
		}
	}
}

// epoch is what `refundry epoch` prints.
type epoch struct {
	Epoch            int
	Moved            bool
	Signs            []string
	SendingHeldSince *time.Time
	HeldBecause      string
	UnmarkedRefunds  int
}

func (s *site) epoch(url, verb string, more ...string) (e epoch) {
	s.t.Helper()
	out := harness.MustVerb(s.t, append([]string{"epoch", verb, "--json", "--database-url", url}, more...)...)
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		s.t.Fatalf("epoch %s: %v: %s", verb, err, out)
	}
	return e
}

// wantHeld waits until sending is held because of at least one of these signs, and every lost refund waits for the epoch. A worker must run.
func (s *site) wantHeld(url string, signs ...string) {
	s.t.Helper()
	harness.Eventually(s.t, time.Minute, "sending is held, and the refunds wait for it", func() (bool, string) {
		text := one[string](s.t, url, `SELECT coalesce(held_because, '') || ':' || (SELECT count(*) FROM refunds
			WHERE refund_id = ANY($1) AND state = 'PENDING' AND pending_reason = 'sending-held') FROM installation`, s.lost)
		return strings.HasSuffix(text, fmt.Sprintf(":%d", len(s.lost))), text
	})
	e := s.epoch(url, "show")
	s.because = e.HeldBecause
	found := slices.ContainsFunc(signs, func(sign string) bool { return slices.Contains(strings.Split(e.HeldBecause, ", "), sign) })
	if e.SendingHeldSince == nil || !found {
		s.t.Errorf("held because of %q, want one of %q", e.HeldBecause, signs)
	}
	s.wantPaidOnce()
}

// exposeAndEnd lets sending go on and waits until every refund has its end or a case; then it checks every promise. A worker must run.
func (s *site) exposeAndEnd(url string, more ...string) {
	s.t.Helper()
	before := s.epoch(url, "show").Epoch
	e := s.epoch(url, "expose", append([]string{"--yes"}, more...)...)
	if e.Epoch != before+1 || e.SendingHeldSince != nil || e.Moved || e.UnmarkedRefunds != 0 {
		s.t.Errorf("after expose: %+v", e)
	}
	if !*full { // the longest lease has gone by
		execute(s.t, url, `SET session_replication_role = replica; UPDATE dispatches SET may_act_until = now() - interval '1 hour' WHERE marked_epoch IS NOT NULL;
			UPDATE refunds SET next_action_at = now() WHERE final_at IS NULL AND case_id IS NULL`)
	}
	harness.Eventually(s.t, 4*time.Minute, "every refund has its end or a case", func() (bool, string) {
		text := one[string](s.t, url, `SELECT coalesce(string_agg(refund_id || ' ' || state, ', '), '') FROM refunds WHERE final_at IS NULL AND case_id IS NULL`)
		return text == "", text
	})
	if n := one[int](s.t, url, `SELECT count(*) FROM refunds WHERE account = 'demo-blind' AND refund_id = ANY($1) AND case_id IS NOT NULL AND state = 'UNKNOWN'`, s.lost); n != 1 {
		s.t.Errorf("%d blind refunds are with a person, want 1", n)
	}
	if n := one[int](s.t, url, `SELECT count(*) FROM refunds WHERE account = 'demo' AND refund_id = ANY($1) AND state = 'SUCCESS'`, s.lost); n != 1 {
		s.t.Errorf("%d refunds that could be queried have succeeded, want 1", n)
	}
	if e := s.epoch(url, "show"); e.SendingHeldSince != nil || e.Moved {
		s.t.Errorf("held again after the next epoch has begun: %+v", e)
	}
	s.wantPaidOnce()
	harness.Verify(s.t, url)
}

// report prints the line of a scenario.
func (s *site) report(name string, began time.Time) {
	s.t.Helper()
	if !s.t.Failed() {
		s.t.Logf("restore: %s: held because of %s; paid once; all ended or with a person; verify is green (%s)", name, s.because,
			time.Since(began).Round(time.Second))
	}
}
