package crash

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/test/e2e/harness"
)

// sites run at the same time, since a killed program mostly waits for leases, locks and starts.
const sites = 3

// tally has the figures of all sites.
type tally struct {
	mu    sync.Mutex
	hits  map[string]int
	kills int
	all   verdict
}

func (y *tally) hit(name string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.hits[name]++
}

func (y *tally) add(kills int, v verdict) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.kills += kills
	y.all = y.all.plus(v)
}

// TestEveryPlaceIsSurvived kills the program at every fault point, under load, with a channel that loses answers.
// Afterwards every accepted refund is final or has a case, no promise is violated, and nothing was paid twice. A point that
// was never passed fails the test, since it would prove nothing.
func TestEveryPlaceIsSurvived(t *testing.T) {
	began := time.Now()
	y := &tally{hits: map[string]int{}}
	all := places()
	t.Run("sites", func(t *testing.T) {
		for i := range sites {
			mine := all[i*len(all)/sites : (i+1)*len(all)/sites]
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				if i == 0 {
					s.setup(y)
				}
				s.run(y, mine, (*kills+sites-1)/sites, i)
			})
		}
	})
	missing := missing(y.hits)
	if len(missing) > 0 {
		t.Errorf("never passed: %s", strings.Join(missing, ", "))
	}
	at := 0
	for _, n := range y.hits {
		at += n
	}
	t.Logf("%d points, %d of them passed; %d kills, %d of them at a point; %s; %s", len(fault.Points()), len(fault.Points())-len(missing), y.kills, at,
		time.Since(began).Round(time.Second), y.all)
}

func missing(hits map[string]int) (out []string) {
	for _, p := range fault.Points() {
		if hits[p.Text] == 0 {
			out = append(out, p.Text)
		}
	}
	return out
}

// run kills the program at each of the points, and again at later passes until there are enough kills. After every round
// over all points it checks everything.
func (s *site) run(y *tally, mine []place, want, which int) {
	for round := 0; round == 0 || s.kills < want; round++ {
		before := s.kills
		if round == 0 {
			s.dev.Kill() // the run that created the folder
			s.kills++
		}
		if which == 1 {
			s.pairs(y, round)
		}
		s.load = startLoad(s, s.load, strangers(mine))
		if which == 2 {
			s.epochs(y)
		}
		var missed []place
		for i, p := range mine {
			n := 1
			if round > 0 {
				n = 1 + (round*5+i)%p.most
			}
			if s.runArmed(p, n) {
				y.hit(p.name)
			} else {
				missed = append(missed, p)
			}
		}
		for _, p := range missed { // once more: the load may only have been too late
			if s.runArmed(p, 1) {
				y.hit(p.name)
			} else {
				s.t.Logf("%s was not passed within %s, twice", p.name, p.wait)
			}
		}
		took := s.settle()
		v := s.judge()
		s.t.Logf("round %d: %d kills, all settled %s after the last; in all %s", round+1, s.kills-before, took.Round(time.Second), v)
		if s.t.Failed() || s.kills >= want {
			y.add(s.kills, v)
			return
		}
		s.dev.Kill()
		s.kills++
	}
}

// setup kills the commands that create a new installation at each of their points, and then completes them.
func (s *site) setup(y *tally) {
	s.t.Helper()
	admin, err := pgx.Connect(s.t.Context(), s.dev.Info().DatabaseURL)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = admin.Close(s.t.Context()) }()
	if _, err := admin.Exec(s.t.Context(), `CREATE DATABASE crash_setup`); err != nil {
		s.t.Fatal(err)
	}
	cfg := admin.Config().Copy()
	url := fmt.Sprintf("postgres://%s:%s@%s:%d/crash_setup?sslmode=disable", cfg.User, cfg.Password, cfg.Host, cfg.Port)
	var killed []string
	verbs := map[string][]string{"migrate": {"migrate"}, "tenant": {"tenant", "add", "shop"}, "key": {"key", "add", "shop", "--actor", "ann", "--json"},
		"key-revoke": {"key", "revoke"}, "tenant-close": {"tenant", "close", "shop"}}
	for _, p := range fault.Points() {
		verb := verbs[strings.Split(p.Text, ".")[0]]
		if verb == nil {
			continue
		}
		s.kills++
		res := harness.Verb(s.t, []string{"REFUNDRY_FAULT=" + p.Text + ":1", "REFUNDRY_DATABASE_URL=" + url}, verb...)
		if at, _ := fault.Killed(lastLine(res.Stderr)); at == p.Text {
			y.hit(p.Text)
			killed = append(killed, p.Text)
		} else {
			s.t.Errorf("%v was not killed at %s: exit %d: %s", verb, p.Text, res.Exit, res.Stderr)
		}
		// Each command is completed before the next one. A repeat after a kill must succeed.
		if strings.HasSuffix(p.Text, ".done") || strings.HasSuffix(p.Text, ".committed") {
			res := harness.Verb(s.t, []string{"REFUNDRY_DATABASE_URL=" + url}, verb...)
			if res.Exit != 0 {
				s.t.Errorf("%v after its kills: exit %d: %s", verb, res.Exit, res.Stderr)
			}
			if p.Text == fault.KeyCommitted.String() {
				verbs["key-revoke"] = append(verbs["key-revoke"], s.prefix(res.Stdout))
			}
		}
	}
	if res := harness.Verb(s.t, nil, "verify", "--json", "--database-url", url); res.Exit != 0 {
		s.t.Errorf("verify of the new installation: exit %d: %s%s", res.Exit, res.Stdout, res.Stderr)
	}
	s.t.Logf("setup: killed at %v", killed)
}

// prefix returns the prefix of the key that a command has created.
func (s *site) prefix(printed string) string {
	s.t.Helper()
	var key struct{ Prefix string }
	if err := json.Unmarshal([]byte(printed), &key); err != nil {
		s.t.Fatalf("key add: %v: %s", err, printed)
	}
	return key.Prefix
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
