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
	report, err := Check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	// The repository has far more files: fewer mean that the walk began in the wrong folder.
	if report.Files < 10 {
		t.Fatalf("only %d Go files were read: is the root right?", report.Files)
	}
	for _, v := range report.Violations {
		t.Error(v)
	}
	t.Logf("%d Go files, %d violations", report.Files, len(report.Violations))
	t.Log(report.Sizes)
}

// TestFences plants one import at a time.
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
	report, err := Check(files)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(report.Violations))
	for _, v := range report.Violations {
		names = append(names, v.Rule)
	}
	return strings.Join(names, " ")
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
