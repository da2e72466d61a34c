package e2e

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// TestDrainAndSecondRun sends SIGTERM: the requests under way are answered and everything stops. A second run finds the
// data and the keys.
func TestDrainAndSecondRun(t *testing.T) {
	t.Parallel()
	const callers = 20
	ctx := bounded(t, 3*time.Minute)
	dev := harness.StartDev(t)
	client, first := dev.Client(), dev.Info()
	var rules []harness.Rule
	for i := range callers {
		rules = append(rules, harness.Rule{Fault: "slow", RefundID: name("rf", i), DelayMS: 1500})
	}
	dev.Sim().SetRules(ctx, rules...)

	r := harness.Verb(t, nil, "dev", "--listen", "127.0.0.1:0", "--nats", "127.0.0.1:0", "--data", dev.Dir)
	if r.Exit != 1 || r.Stdout != "" {
		t.Errorf("a second dev at the same time on the same folder: exit %d: %s", r.Exit, last(r.Stderr))
	}
	answers := make([]harness.Response, callers)
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			r := request(name("rf", i), 100, 100)
			answers[i], errs[i] = client.Once(ctx, http.MethodPost, "/v1/refunds", harness.Headers{"Idempotency-Key": r.RefundID, "Prefer": "wait=30"}, r)
		})
	}
	for i := range callers { // all accepted, with callers that wait for the result
		dev.Sim().UntilMoved(ctx, name("rf", i), time.Minute)
	}
	began := time.Now()
	if code := dev.Stop(); code != 0 {
		t.Errorf("exit %d after SIGTERM, want 0", code)
	}
	took := time.Since(began)
	wg.Wait()
	for i := range callers {
		if errs[i] != nil || answers[i].Status != http.StatusAccepted {
			t.Errorf("request %d, accepted before the end: %v status %d, want 202: %s", i, errs[i], answers[i].Status, answers[i].Body)
		}
	}
	if dev.DatabaseAnswers() {
		t.Error("PostgreSQL still listens after the drain")
	}
	dev.Start()
	if second := dev.Info(); second.APIKey != first.APIKey || second.ApproverKey != first.ApproverKey || second.DatabaseURL != first.DatabaseURL {
		t.Error("the second run has other keys or another database")
	}
	want := map[string]int64{}
	for i := range callers {
		want[name("rf", i)] = 100
		client.UntilState(ctx, name("rf", i), "SUCCESS", time.Minute)
	}
	onceEach(t, dev.Sim().Effects(ctx), want)
	// No takeover was necessary, since the drain waited for the answers under way.
	if n := dev.DB().Int(ctx, `SELECT count(*) FROM journal WHERE kind = 'lease_end'`); n != 0 {
		t.Errorf("%d refunds were taken over after the drain", n)
	}
	t.Logf("drained in %s", took.Round(time.Millisecond))
}

// TestDevRefuses checks that dev reports what it cannot do and leaves nothing running.
func TestDevRefuses(t *testing.T) {
	t.Parallel()
	t.Run("a port that is taken", func(t *testing.T) {
		t.Parallel()
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		dir := harness.NewDir(t)
		r := harness.Verb(t, nil, "dev", "--listen", l.Addr().String(), "--data", dir, "--json")
		if r.Exit != 1 || !strings.Contains(r.Stderr, l.Addr().String()) || !strings.Contains(r.Stderr, "address already in use") || r.Stdout != "" {
			t.Errorf("exit %d, printed %q and %q; want 1 and the taken address", r.Exit, r.Stdout, last(r.Stderr))
		}
		if _, err := os.Stat(filepath.Join(dir, "postgres", "data", "postmaster.pid")); !os.IsNotExist(err) {
			t.Errorf("PostgreSQL was left running: %v", err)
		}
	})
	t.Run("a database that is given", func(t *testing.T) {
		t.Parallel()
		dir := harness.NewDir(t)
		r := harness.Verb(t, []string{"REFUNDRY_DATABASE_URL=postgres://elsewhere/production"}, "dev", "--data", dir)
		if r.Exit != 1 || !strings.Contains(r.Stderr, "REFUNDRY_DATABASE_URL") {
			t.Errorf("exit %d: %q, want 1 and the variable named", r.Exit, r.Stderr)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("it has started nevertheless: %v %v", left, err)
		}
	})
	t.Run("a variable that it does not know", func(t *testing.T) {
		t.Parallel()
		r := harness.Verb(t, []string{"REFUNDRY_DATABSE_URL=x"}, "migrate")
		if r.Exit != 1 || !strings.Contains(r.Stderr, "REFUNDRY_DATABSE_URL") {
			t.Errorf("exit %d: %q, want 1 and the variable named", r.Exit, r.Stderr)
		}
	})
	t.Run("a fault that does not exist", func(t *testing.T) {
		t.Parallel()
		dir := harness.NewDir(t)
		r := harness.Verb(t, nil, "dev", "--listen", "127.0.0.1:0", "--data", dir, "--faults", "lost-sometimes=0.5")
		if r.Exit != 1 || !strings.Contains(r.Stderr, "lost-sometimes") {
			t.Errorf("exit %d: %q, want 1 and the fault named", r.Exit, last(r.Stderr))
		}
		if _, err := os.Stat(filepath.Join(dir, "postgres", "data", "postmaster.pid")); !os.IsNotExist(err) {
			t.Errorf("PostgreSQL was left running: %v", err)
		}
	})
}

// last returns the last line of a text.
func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
