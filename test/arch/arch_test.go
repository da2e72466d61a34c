package arch

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestHouse checks this repository.
func TestHouse(t *testing.T) {
	t.Parallel()
	found, n, err := Check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	// Far below what is there: a walk that finds nothing must not pass.
	if n < 10 {
		t.Fatalf("only %d Go files read: is the root right?", n)
	}
	for _, v := range found {
		t.Error(v)
	}
	t.Logf("%d Go files, %d violations", n, len(found))
}

const ours = Module + "/"

// plantedImports are one import each, and whether a fence must see it.
var plantedImports = []struct {
	file, imports string
	bad           bool
}{
	{"internal/refund/a.go", "crypto/sha256", false},
	{"internal/refund/a.go", "github.com/jackc/pgx/v5", true},
	{"internal/refund/a.go", "github.com/google/uuid", true},
	{"internal/refund/a.go", "database/sql", true},
	{"internal/refund/a.go", ours + "internal/telemetry", true},
	{"internal/refund/a.go", ours + "api", true},
	{"internal/refund/a_test.go", "pgregory.net/rapid", false},
	{"internal/refund/a_test.go", ours + "internal/refund", false},
	{"internal/refund/a_test.go", ours + "internal/store", true},
	{"internal/refund/a_test.go", "github.com/jackc/pgx/v5", true},

	{"internal/store/a.go", ours + "internal/refund", false},
	{"internal/store/a.go", ours + "internal/store/migrate", true},
	{"internal/store/a.go", ours + "migrations", false},
	{"internal/store/a.go", ours + "internal/jobs", true},
	{"internal/store/a.go", ours + "internal/devdb", true},
	{"internal/store/a_test.go", ours + "internal/devdb/dbtest", false},
	{"internal/store/a.go", ours + "internal/devdb/dbtest", true},
	{"internal/store/a.go", "github.com/jackc/pgx/v5/pgxpool", false},
	{"internal/store/a.go", "github.com/jackc/pgx/v5/stdlib", true},
	{"internal/store/a.go", "github.com/riverqueue/river", true},
	{"internal/store/migrate_river.go", "github.com/riverqueue/river/rivermigrate", false},
	{"internal/store/migrate.go", "github.com/pressly/goose/v3", false},
	{"internal/store/accept.go", "database/sql", true},
	{"internal/store/a.go", "github.com/pressly/goose/v3", true},
	{"internal/store/migrate/a.go", "github.com/pressly/goose/v3", false},
	{"internal/store/migrate/a.go", "github.com/jackc/pgx/v5/stdlib", false},
	{"internal/store/migrate/a.go", "database/sql", false},
	{"internal/store/migrate/a.go", "github.com/riverqueue/river/rivermigrate", false},

	{"internal/jobs/a.go", "github.com/riverqueue/river", false},
	{"internal/jobs/a.go", "github.com/jackc/pgx/v5", false},
	{"internal/jobs/a.go", ours + "internal/store", true},
	{"internal/jobs/a.go", ours + "internal/channel", true},
	{"internal/jobs/a_test.go", ours + "internal/store", false},

	{"internal/http/a.go", "github.com/go-chi/chi/v5", false},
	{"internal/http/a.go", ours + "internal/http/oapi", false},
	{"internal/http/a.go", ours + "api/strictjson", false},
	{"internal/http/a.go", "github.com/jackc/pgx/v5", true},
	{"internal/http/a.go", ours + "internal/store", true},
	{"internal/http/a.go", "database/sql", true},
	{"internal/bridge/a.go", ours + "internal/http/oapi", true},
	{"internal/bridge/a.go", "github.com/go-chi/chi/v5", true},

	{"internal/channel/plain/a.go", ours + "internal/channel", false},
	{"internal/channel/plain/a.go", ours + "internal/channel/stripe", true},
	{"internal/channel/plain/a.go", ours + "internal/simulator", true},
	{"internal/channel/registry/a.go", ours + "internal/channel/plain", false},
	{"internal/channel/channeltest/a.go", ours + "internal/channel", false},
	{"internal/bridge/nats/a.go", "github.com/nats-io/nats.go", false},
	{"internal/bridge/nats/a.go", "github.com/nats-io/nats-server/v2/server", true},
	{"internal/bridge/kafka/a.go", "github.com/nats-io/nats.go", true},
	{"internal/bridge/nats/a_test.go", "github.com/nats-io/nats-server/v2/server", false},

	{"internal/channel/plain/a.go", ours + "internal/config", false},
	{"internal/channel/plain/a.go", "go.yaml.in/yaml/v3", false},
	{"internal/bridge/nats/a.go", ours + "internal/config", false},
	{"internal/bridge/nats/a.go", "go.yaml.in/yaml/v3", false},
	{"internal/bridge/nats/a.go", ours + "internal/channel", true},
	{"internal/config/a.go", "go.yaml.in/yaml/v3", false},
	{"internal/config/a.go", ours + "internal/channel/plain", true},
	{"internal/config/a.go", ours + "internal/bridge", true},
	{"internal/jobs/a.go", "go.yaml.in/yaml/v3", true},
	{"cmd/server/kinds.go", ours + "internal/channel/plain", false},
	{"cmd/server/kinds.go", ours + "internal/bridge/nats", false},
	{"cmd/server/wire.go", ours + "internal/channel/plain", true},
	{"cmd/server/bridges.go", ours + "internal/bridge/nats", true},
	{"cmd/server/wire.go", ours + "internal/channel", false},
	{"cmd/server/dev.go", ours + "internal/channel/plain", false},
	{"cmd/server/benchbridge.go", ours + "internal/bridge/nats", false},
	{"internal/refund/a_test.go", ours + "internal/refundtest", false},
	{"internal/refund/a.go", ours + "internal/refundtest", true},
	{"internal/refund/a.go", ours + "internal/refund/intake", true},
	{"internal/refund/a.go", ours + "internal/access", true},
	{"internal/refund/intake/a.go", ours + "internal/refund", false},
	{"internal/refund/intake/a.go", ours + "internal/refund/audit", true},
	{"internal/refund/intake/a.go", ours + "internal/access", true},
	{"internal/refund/audit/a.go", ours + "internal/refund", false},
	{"internal/refund/audit/a.go", ours + "internal/refund/intake", true},
	{"internal/refund/event/a.go", ours + "internal/refund", false},
	{"internal/refund/event/a.go", ours + "internal/refund/audit", true},
	{"internal/refund/wire/a.go", ours + "internal/refund/intake", false},
	{"internal/refund/wire/a.go", ours + "api/strictjson", false},
	{"internal/refund/wire/a.go", ours + "internal/refund/event", true},
	{"internal/refund/wire/a.go", ours + "internal/http", true},
	{"internal/access/a.go", ours + "internal/refund", false},
	{"internal/access/a.go", ours + "internal/store", true},
	{"internal/store/a.go", ours + "internal/access", false},
	{"internal/http/a.go", ours + "internal/access", false},
	{"internal/clock/a.go", ours + "internal/store", true},
	{"internal/clock/a.go", "github.com/jackc/pgx/v5", true},
	{"internal/clock/a.go", "github.com/google/uuid", true},
	{"internal/clock/a.go", ours + "internal/refund", true},
	{"internal/clock/a.go", "time", false},
	{"internal/jobs/a.go", ours + "internal/clock", false},
	{"internal/bridge/a.go", ours + "internal/clock", false},
	{"internal/devdb/a.go", ours + "internal/clock", false},
	{"internal/devdb/a.go", ours + "internal/fault", true},
	{"internal/simulator/a.go", ours + "internal/clock", true},
	{"internal/store/a.go", ours + "internal/store/pg", false},
	{"internal/store/a.go", ours + "internal/store/verify", true},
	{"internal/store/a.go", ours + "internal/store/read", true},
	{"internal/store/pg/a.go", ours + "internal/store", true},
	{"internal/store/pg/a.go", ours + "internal/store/migrate", true},
	{"internal/store/pg/a.go", "github.com/jackc/pgx/v5", false},
	{"internal/store/migrate/a.go", ours + "internal/store/pg", false},
	{"internal/store/migrate/a.go", ours + "internal/store", true},
	{"internal/store/migrate/a.go", "github.com/pressly/goose/v3", false},
	{"internal/store/read/a.go", ours + "internal/store/pg", false},
	{"internal/store/read/a.go", ours + "internal/store", true},
	{"internal/store/read/a.go", "github.com/pressly/goose/v3", true},
	{"internal/store/verify/a.go", ours + "internal/refund/audit", false},
	{"internal/store/verify/a.go", ours + "internal/store/migrate", true},
	{"internal/store/verify/a.go", ours + "internal/store", true},
	{"internal/store/a_test.go", ours + "internal/refundtest", false},
	{"internal/store/a.go", ours + "internal/refundtest", true},

	{"internal/simulator/a.go", ours + "internal/fault", false},
	{"internal/simulator/a.go", ours + "internal/refund", true},
	{"internal/simulator/a.go", ours + "api", true},
	{"internal/fault/a.go", ours + "internal/refund", true},
	{"internal/telemetry/a.go", ours + "internal/refund", false},
	{"internal/telemetry/a.go", ours + "internal/store", true},
	{"internal/devdb/a.go", "github.com/jackc/pgx/v5", false},
	{"internal/devdb/a.go", ours + "internal/config", true},
	{"internal/newroom/a.go", ours + "internal/refund", false},
	{"internal/newroom/a.go", ours + "internal/store", true},
	{"internal/store/a.go", ours + "internal/newroom", true},
	{"internal/storeroom/a.go", "github.com/jackc/pgx/v5", true}, // not internal/store
	{"internal/http/a.go", ours + "cmd/server", true},
	{"internal/http/a.go", "testing", true},
	{"internal/http/a.go", "github.com/spf13/cobra", true},
	{"cmd/server/a.go", ours + "internal/devdb", false},
	{"cmd/server/a.go", ours + "internal/store", false},
	{"cmd/server/a.go", "github.com/spf13/cobra", false},
	{"cmd/server/a.go", "github.com/jackc/pgx/v5/pgxpool", false},
	{"cmd/server/a.go", "database/sql", true},
	{"test/e2e/a.go", ours + "internal/simulator", false},
}

// TestFences plants one import at a time and looks whether it is seen.
func TestFences(t *testing.T) {
	t.Parallel()
	for _, c := range plantedImports {
		src := fmt.Sprintf("package a\n\nimport _ %q\n", c.imports)
		got := rules(t, fstest.MapFS{c.file: {Data: []byte(src)}})
		want := ""
		if c.bad {
			want = "fence"
		}
		if got != want {
			t.Errorf("%s importing %s: %q, want %q", c.file, c.imports, got, want)
		}
	}
}

// rules lists the names of the rules that the files break.
func rules(t *testing.T, files fstest.MapFS) string {
	t.Helper()
	found, _, err := Check(files)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(found))
	for _, v := range found {
		names = append(names, v.Rule)
	}
	return strings.Join(names, " ")
}

func TestLengths(t *testing.T) {
	t.Parallel()
	lines := func(n int) string { return strings.Repeat("\n", n) }
	cases := []struct{ name, src, want string }{
		{"500 lines", "package a" + lines(500), ""},
		{"501 lines", "package a" + lines(501), "file-length"},
		{"501 generated lines", "// Code generated by x. DO NOT EDIT.\n\npackage a" + lines(501), ""},
		{"the mark after the package clause", "package a\n\n// Code generated by x. DO NOT EDIT.\n" + lines(501), "file-length"},
		{"function of 80", "package a\n\nfunc f() {" + lines(79) + "}\n", ""},
		{"function of 81", "package a\n\nfunc f() {" + lines(80) + "}\n", "func-length"},
		{"method of 81", "package a\n\ntype t int\n\nfunc (t) f() {" + lines(80) + "}\n", "func-length"},
	}
	for _, c := range cases {
		if got := rules(t, fstest.MapFS{"internal/a/a.go": {Data: []byte(c.src)}}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSkips(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, body, want string }{
		{"skip", "func f(t *testing.T) { t.Skip() }", "skip"},
		{"skipf in a closure", `func f(tb testing.TB) { g(func() { tb.Skipf("x") }) }`, "skip"},
		{"skip now through a field", "func f(s suite) { s.t.SkipNow() }", "skip"},
		{"short", "func f() { if testing.Short() { return } }", "skip"},
		{"rapid throws an input away", "func f(t *testing.T) { rapid.Check(t, func(r *rapid.T) { r.Skip() }) }", ""},
		{"rapid's t hides the other", "func f(t *testing.T) { rapid.Check(t, func(t *rapid.T) { t.Skip() }) }", ""},
		{"the outer t in rapid", "func f(t *testing.T) { rapid.Check(t, func(r *rapid.T) { t.Skip() }) }", "skip"},
	}
	for _, c := range cases {
		src := "package a\n\nimport \"testing\"\n\n" + c.body + "\n"
		if got := rules(t, fstest.MapFS{"internal/a/a_test.go": {Data: []byte(src)}}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNamesAndWalk(t *testing.T) {
	t.Parallel()
	good := &fstest.MapFile{Data: []byte("package a\n")}
	broken := &fstest.MapFile{Data: []byte("package\n")}
	cases := []struct {
		name string
		fs   fstest.MapFS
		want string
	}{
		{"a folder named after nothing", fstest.MapFS{"internal/util/a.go": good}, "name"},
		{"a file that does not parse", fstest.MapFS{"internal/a/a.go": broken}, "syntax"},
		{"a module of its own", fstest.MapFS{"tools/go.mod": good, "tools/util/a.go": broken}, ""},
		{"testdata and hidden folders", fstest.MapFS{"a/testdata/a.go": broken, ".git/a.go": broken}, ""},
	}
	for _, c := range cases {
		if got := rules(t, c.fs); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
