package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Simulator is `refundry simulate` in a process of its own.
type Simulator struct {
	t    testing.TB
	dir  string
	proc *Process
	base atomic.Pointer[string]
}

// StartSimulator starts a channel with an empty record.
func StartSimulator(t testing.TB) *Simulator {
	t.Helper()
	s := &Simulator{t: t, dir: t.TempDir()}
	s.Start("127.0.0.1:0")
	return s
}

// Start starts the simulator again with the same record.
func (s *Simulator) Start(listen string) {
	s.t.Helper()
	s.proc = start(s.t, "refundry simulate", func(line string) bool { return strings.HasPrefix(line, `{"simulator":`) },
		"simulate", "--listen", listen, "--data", s.dir, "--json", "--log-level", "warn")
	var said struct{ Simulator string }
	if err := json.Unmarshal([]byte(s.proc.waitReady()), &said); err != nil {
		s.t.Fatal(err)
	}
	s.base.Store(&said.Simulator)
}

// Kill kills the channel.
func (s *Simulator) Kill() { s.proc.Kill() }

// Addr returns host and port of the last start.
func (s *Simulator) Addr() string { return strings.TrimPrefix(*s.base.Load(), "http://") }

// Sim returns a client of the channel.
func (s *Simulator) Sim() *Sim { return NewSim(s.t, func() string { return *s.base.Load() }) }

// Replica is one `refundry serve`.
type Replica struct {
	*Process
	t   testing.TB
	api string // "" for one without the role api
}

// Serve starts a replica on a migrated database. config is the text of the YAML file, roles those of --roles, more are
// further flags. It drains without delay unless they say otherwise.
func Serve(t testing.TB, databaseURL, config, roles string, more ...string) *Replica {
	t.Helper()
	file := filepath.Join(t.TempDir(), "refundry.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Replica{t: t}
	r.Process = start(t, "refundry serve "+roles, func(line string) bool { return strings.Contains(line, `"msg":"ready"`) },
		slices.Concat([]string{"serve", "--database-url", databaseURL, "--config", file, "--listen", "127.0.0.1:0", "--roles", roles,
			"--workers", "8", "--drain-delay", "0s"}, more)...)
	var said struct{ API string }
	if err := json.Unmarshal([]byte(r.waitReady()), &said); err != nil {
		t.Fatal(err)
	}
	r.api = said.API
	return r
}

// URL returns the address of the replica's API.
func (r *Replica) URL() string { return r.api }

// Client returns a client of this replica.
func (r *Replica) Client(key string) *Client {
	return NewClient(r.t, func() string { return r.api }, key)
}

// Account returns a configuration with one account at the simulator, for these tenants.
func Account(s *Simulator, name, profile string, tenants ...string) string {
	var prefixes []string // the default reference of a payment begins with its tenant's
	for _, tenant := range tenants {
		if len(tenants) > 1 {
			prefixes = append(prefixes, fmt.Sprintf("%s: %q", tenant, tenant+":"))
		}
	}
	return fmt.Sprintf("accounts:\n  %s: {channel: plain, endpoint: %s, tenants: [%s], references: {prefixes: {%s}}, contract: {profile: %s}}\n",
		name, *s.base.Load(), strings.Join(tenants, ", "), strings.Join(prefixes, ", "), profile)
}

// Verify checks every promise with `refundry verify`.
func Verify(t testing.TB, databaseURL string) {
	t.Helper()
	if r := Verb(t, nil, "verify", "--database-url", databaseURL); r.Exit != 0 {
		t.Errorf("refundry verify: exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
}

// AddTenant creates a test tenant with the program's commands.
func AddTenant(t testing.TB, databaseURL, code string) {
	t.Helper()
	MustVerb(t, "tenant", "add", code, "--test", "--database-url", databaseURL)
}

// AddKey creates a key of a tenant with the program's commands and returns it.
func AddKey(t testing.TB, databaseURL, tenant, actor, scopes string) string {
	t.Helper()
	var said struct{ Key string }
	out := MustVerb(t, "key", "add", tenant, "--actor", actor, "--scopes", scopes, "--json", "--database-url", databaseURL)
	if err := json.Unmarshal([]byte(out), &said); err != nil || said.Key == "" {
		t.Fatalf("key add: %v: no key in what it printed", err)
	}
	return said.Key
}
