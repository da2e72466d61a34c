package arch

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestRooms(t *testing.T) {
	t.Parallel()
	found, err := Rooms(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// plantedRooms is a repository without a violation.
func plantedRooms() fstest.MapFS {
	goFile := &fstest.MapFile{Data: []byte("package a\n")}
	sql := &fstest.MapFile{}
	return fstest.MapFS{
		packagesPage: {Data: []byte("| package | what it contains |\n|---|---|\n| `internal/a/` | things |\n" +
			"| `internal/b/one/`, `two/` | others; `two/sub/` |\n| `internal/kinds/` | a folder for each kind; `kindstest/` checks them; `cmd/x/y.go` lists them |\n")},
		"internal/a/a.go":                   goFile,
		"internal/b/one/a.go":               goFile,
		"internal/b/two/a.go":               goFile,
		"internal/b/two/sub/a.go":           goFile,
		"internal/kinds/new/a.go":           goFile,
		"internal/kinds/kindstest/a.go":     goFile,
		"internal/b/three/testdata/a.go":    goFile,
		"internal/b/four/page.md":           sql,
		"migrations/0001_a.sql":             sql,
		"migrations/0002_b.sql":             sql,
		"internal/store/migrate/river.go":   {Data: []byte("package migrate\n\nvar steps = []riverStep{{step: 3, river: 8}}\n")},
		"internal/store/migrate/doc_not.md": sql,
		"migrations/0004_c.sql":             sql,
	}
}

func TestAFolderThatTheTableOfPackagesLacksAndMigrationsOfOneNumberFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, add, remove, want string }{
		{"nothing", "", "", ""},
		{"a folder of its own", "internal/c/a.go", "", "room internal/c"},
		{"a folder beside named ones", "internal/b/three/a.go", "", "room internal/b/three"},
		{"a folder below a named one", "internal/a/deep/a.go", "", "room internal/a/deep"},
		{"a folder below one of the kinds", "internal/kinds/new/deep/a.go", "", "room internal/kinds/new/deep"},
		{"a folder with tests only", "internal/c/a_test.go", "", "room internal/c"},
		{"one number twice", "migrations/0002_c.sql", "", "migration migrations/0002_c.sql"},
		{"the number of a step in Go", "migrations/0003_c.sql", "", "migration internal/store/migrate/river.go"},
		{"a gap", "migrations/0006_c.sql", "", "migration migrations/0006_c.sql"},
		{"a gap at the start", "", "migrations/0001_a.sql", "migration migrations/0002_b.sql"},
		{"the step in Go is gone", "", "internal/store/migrate/river.go", "error"},
		{"no number", "migrations/later.sql", "", "migration migrations/later.sql"},
	} {
		files := plantedRooms()
		// the planted migrator is named, too
		files[packagesPage].Data = append(files[packagesPage].Data, "| `internal/store/migrate/` | the runner |\n"...)
		if c.add != "" {
			files[c.add] = &fstest.MapFile{Data: []byte("package a\n")}
		}
		delete(files, c.remove)
		var got []string
		found, err := Rooms(files)
		if err != nil {
			got = append(got, "error")
		}
		for _, v := range found {
			got = append(got, v.Rule+" "+v.File)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}
