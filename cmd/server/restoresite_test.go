package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/simulator"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/verify"
)

// restoreSite is a service in this process whose database can be replaced, while its channel stays.
type restoreSite struct {
	t    *testing.T
	dir  string
	sim  *runningSimulator
	demo demoSite
	app  *app

	verifyEvery time.Duration
	change      func(*config.File) // of the configuration; nil = none
}

func newRestoreSite(t *testing.T, url string) *restoreSite {
	t.Helper()
	s := &restoreSite{t: t, dir: t.TempDir(), verifyEvery: time.Second}
	if _, err := migrate.Up(t.Context(), migrate.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.demo, err = prepareDemo(t.Context(), url, s.dir); err != nil {
		t.Fatal(err)
	}
	if s.sim, err = startSimulatorWith(t.Context(), "127.0.0.1:0", simulator.Config{Dir: filepath.Join(s.dir, "sim")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.sim.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start starts the service and returns a function that stops it.
func (s *restoreSite) start(url string, worker bool) func() {
	s.t.Helper()
	secret := filepath.Join(s.dir, "secret")
	if err := os.WriteFile(secret, []byte("a secret of the tests"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	file, err := demoConfig(s.sim.url(), "", secret, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	file.Bridges = nil
	if s.change != nil {
		s.change(&file)
	}
	a, err := newApp(s.t.Context(), appConfig{databaseURL: url, schema: "refundry", listen: "127.0.0.1:0", file: file, api: true, worker: worker, workers: 8,
		guard: guardConfig{verifyEvery: s.verifyEvery, tables: 60 * s.verifyEvery}, log: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := a.start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.app = a
	return func() {
		if err := a.stop(); err != nil {
			s.t.Error(err)
		}
	}
}

func (s *restoreSite) post(path, key string, body any) (status int, answer map[string]any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.app.server.Addr().String()+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.demo.APIKey)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, answer
}

// ask posts a refund of a payment of its own. The account is that at the beginning of the id.
func (s *restoreSite) ask(id, account string) {
	s.t.Helper()
	status, answer := s.post("/v1/refunds", "key-"+id, map[string]any{"refundId": id, "orderId": "ord_" + id, "paymentId": "pay_" + id, "amount": 100,
		"currency": "USD", "payment": map[string]any{"orderId": "ord_" + id, "amount": 1000, "currency": "USD", "channelAccount": account}})
	if status != http.StatusAccepted {
		s.t.Fatalf("%s: %d %v", id, status, answer)
	}
}

// sends returns the channel's record: the number of sends, and the effects by refund.
func (s *restoreSite) sends() (requests int, effects map[string]int) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.sim.url()+"/effects", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var all []struct {
		RefundID string
		Requests int
	}
	if err := json.NewDecoder(res.Body).Decode(&all); err != nil {
		s.t.Fatal(err)
	}
	effects = map[string]int{}
	for _, e := range all {
		requests += e.Requests
		effects[e.RefundID]++
	}
	return requests, effects
}

func (s *restoreSite) askAll(prefix string, from, to int) {
	s.t.Helper()
	for i := from; i < to; i++ {
		s.ask(fmt.Sprintf("%s_%d", prefix, i), restoredAccounts[i%len(restoredAccounts)])
	}
}

// wantEnds waits until every refund is final or has a case, and logs the others.
func (s *restoreSite) wantEnds(url string) {
	s.t.Helper()
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Log(one[string](s.t, url, `SELECT coalesce(string_agg(format('%s %s %s %s dispatch %s, due %s, asked %s', refund_id, account, state, pending_reason, dispatch_no,
				next_action_at - now(), (SELECT string_agg(a.dispatch_no || a.kind || ':' || coalesce(a.answer, ''), ' ' ORDER BY a.no) FROM attempts a WHERE a.rid = refunds.rid)), E'\n'), '')
				FROM refunds WHERE final_at IS NULL AND case_id IS NULL`))
		}
	})
	until(s.t, 3*time.Minute, "every refund has its end or a case", func() bool {
		return one[int](s.t, url, `SELECT count(*) FROM refunds WHERE final_at IS NULL AND case_id IS NULL`) == 0
	})
}

// wantSends checks the number of sends, each of another refund.
func (s *restoreSite) wantSends(n int) {
	s.t.Helper()
	requests, effects := s.sends()
	if requests != n || len(effects) != n {
		s.t.Errorf("the channel saw %d sends for %d refunds, want %d", requests, len(effects), n)
	}
	for id, n := range effects {
		if n != 1 {
			s.t.Errorf("%s: %d effects", id, n)
		}
	}
}

func (s *restoreSite) wantPromises(url string) {
	s.t.Helper()
	v, err := verify.Open(context.WithoutCancel(s.t.Context()), verify.Config{URL: url})
	if err != nil {
		s.t.Fatal(err)
	}
	defer v.Close()
	r, err := v.Run(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range r.Promises {
		if p.Violations > 0 {
			s.t.Errorf("%s: %d violations: %+v", p.ID, p.Violations, p.Samples)
		}
	}
	if len(r.Promises) != len(audit.Promises()) {
		s.t.Errorf("%d promises checked", len(r.Promises))
	}
}
