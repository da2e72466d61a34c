package devdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/refundry/refundry/internal/devdb"
)

// TestWorkingDirectoryThatTheServersUserCannotEnter has an open working directory in a closed parent, like a clone below
// root's home: only the absolute path shows that PostgreSQL's user cannot enter it. A normal user is the server's user and
// can.
func TestWorkingDirectoryThatTheServersUserCannotEnter(t *testing.T) {
	closed := t.TempDir()
	checkout := filepath.Join(closed, "checkout")
	if err := errors.Join(os.Chmod(closed, 0o700), os.Mkdir(checkout, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(checkout)
	want := filepath.Join(checkout, devdb.DefaultName)
	if os.Geteuid() == 0 {
		want = "/var/lib/refundry"
	}
	if got := devdb.DefaultDir(); got != want {
		t.Errorf("default folder %s, want %s: PostgreSQL's user can enter that one", got, want)
	}
	db := start(t, devdb.Config{Dir: newDir(t)})
	if !reachable(db.URL()) {
		t.Error("a server in an open folder does not answer when it is started from a closed one")
	}
}
