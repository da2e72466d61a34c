package devdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// MinMajor is the oldest PostgreSQL major version that Refundry runs on.
const MinMajor = 15

// ErrNotInstalled is wrapped by every error that means that this machine has no usable PostgreSQL programs. The text has
// the package to install.
var ErrNotInstalled = errors.New(`PostgreSQL is not installed
  Debian, Ubuntu:  apt-get install postgresql
  Fedora, RHEL:    dnf install postgresql-server
  macOS:           brew install postgresql@17
  elsewhere:       set PG_BIN_DIR to the folder that holds postgres and initdb`)

// binGlobs are the folders in which packages install the server programs. Debian and Red Hat leave them out of PATH, so
// that several versions can be installed.
var binGlobs = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/opt/homebrew/opt/postgresql/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql/bin",
	"/usr/local/pgsql/bin",
}

// installation is one folder with postgres and initdb of the same version.
type installation struct {
	bin   string // absolute, symbolic links resolved
	major int
}

// Available returns nil if this machine has PostgreSQL programs that Start can use. The error wraps ErrNotInstalled and has
// the package to install.
func Available() error {
	_, err := chooseInstallation(context.Background(), "", 0)
	return err
}

// chooseInstallation returns the newest usable installation or, when major is not 0, the one of this major version, since
// no other can read the data directory. If binDir is given, it searches nowhere else.
func chooseInstallation(ctx context.Context, binDir string, major int) (installation, error) {
	found := findInstallations(ctx, binDir)
	var seen []string
	for _, in := range found {
		if major == 0 && in.major >= MinMajor || in.major == major {
			return in, nil
		}
		seen = append(seen, fmt.Sprintf("%d in %s", in.major, in.bin))
	}
	switch {
	case major != 0:
		have := "none"
		if len(seen) > 0 {
			have = strings.Join(seen, ", ")
		}
		return installation{}, fmt.Errorf("the data was made by PostgreSQL %d, which is not installed (found: %s); "+
			"install that version or move the data with pg_upgrade; the data was not changed: %w", major, have, ErrNotInstalled)
	case len(seen) > 0:
		return installation{}, fmt.Errorf("PostgreSQL %d or newer is needed, found only %s: %w",
			MinMajor, strings.Join(seen, ", "), ErrNotInstalled)
	case binDir != "":
		return installation{}, fmt.Errorf("no postgres and initdb in %s: %w", binDir, ErrNotInstalled)
	}
	return installation{}, ErrNotInstalled
}

// findInstallations returns the installations, newest major version first. Of equal versions the first found is first, so
// PATH precedes the package folders.
func findInstallations(ctx context.Context, binDir string) []installation {
	var dirs []string
	if binDir == "" {
		binDir = os.Getenv("PG_BIN_DIR")
	}
	if binDir != "" {
		dirs = []string{binDir}
	} else {
		if p, err := exec.LookPath("postgres"); err == nil {
			dirs = append(dirs, filepath.Dir(p))
		}
		for _, g := range binGlobs {
			m, err := filepath.Glob(g)
			if err != nil {
				continue // only a malformed pattern is an error, and the patterns are constants
			}
			dirs = append(dirs, m...)
		}
	}
	var found []installation
	known := map[string]bool{}
	for _, d := range dirs {
		in, ok := inspect(ctx, d)
		if ok && !known[in.bin] {
			known[in.bin] = true
			found = append(found, in)
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].major > found[j].major })
	return found
}

// inspect resolves links, since a package may link only postgres into PATH, and asks the program for its version.
func inspect(ctx context.Context, dir string) (installation, bool) {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return installation{}, false
	}
	bin, err := filepath.Abs(filepath.Dir(real))
	if err != nil {
		return installation{}, false
	}
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return installation{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return installation{}, false
	}
	major, err := parseMajor(string(out))
	if err != nil {
		return installation{}, false
	}
	return installation{bin: bin, major: major}, true
}

// versionPattern matches releases, betas and development versions: "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)",
// "… 19beta1".
var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

func parseMajor(out string) (int, error) {
	m := versionPattern.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("cannot read a PostgreSQL version from %q", strings.TrimSpace(out))
	}
	return strconv.Atoi(m[1])
}
