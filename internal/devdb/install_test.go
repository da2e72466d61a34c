package devdb

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseMajor(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 18.0\n":                           18,
		"postgres (PostgreSQL) 19beta1\n":                        19,
		"postgres (PostgreSQL) 19devel":                          19,
	} {
		got, err := parseMajor(out)
		if err != nil || got != want {
			t.Errorf("parseMajor(%q) = %d, %v; want %d", out, got, err, want)
		}
	}
	if _, err := parseMajor("mysqld  Ver 8"); err == nil {
		t.Error("the version of another program was accepted")
	}
}

// fakeInstallation creates a folder with programs that only print their version.
func fakeInstallation(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
	for _, name := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestChooseInstallation(t *testing.T) {
	t.Parallel()
	old, good := fakeInstallation(t, "14.9"), fakeInstallation(t, "17.2")

	if in, err := chooseInstallation(t.Context(), good, 0); err != nil || in.major != 17 {
		t.Errorf("17 for new data: %v, %v", in, err)
	}
	if in, err := chooseInstallation(t.Context(), good, 17); err != nil || in.major != 17 {
		t.Errorf("17 for data of 17: %v, %v", in, err)
	}
	cases := []struct {
		name, dir string
		major     int
		says      string
	}{
		{"too old for new data", old, 0, "only 14"},
		{"other version than the data", good, 16, "made by PostgreSQL 16"},
		{"empty folder", t.TempDir(), 0, "no postgres and initdb"},
	}
	for _, c := range cases {
		_, err := chooseInstallation(t.Context(), c.dir, c.major)
		if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want ErrNotInstalled that says %q", c.name, err, c.says)
		}
	}
}

func TestInstallationIsFoundBehindALink(t *testing.T) {
	t.Parallel()
	real, links := fakeInstallation(t, "16.1"), t.TempDir()
	if err := os.Symlink(filepath.Join(real, "postgres"), filepath.Join(links, "postgres")); err != nil {
		t.Fatal(err)
	}
	in, err := chooseInstallation(t.Context(), links, 0)
	if err != nil || !samePath(in.bin, real) {
		t.Errorf("got %v, %v; want %s", in, err, real)
	}
}

func TestAvailableHere(t *testing.T) {
	t.Parallel()
	if err := Available(); err != nil {
		t.Errorf("the tests need PostgreSQL: %v", err)
	}
}
