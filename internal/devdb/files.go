package devdb

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// files are the paths of one server.
type files struct {
	dir, home, data, password, port, log, startLock, ownerLock string
}

func filesIn(dir string) files {
	home := filepath.Join(dir, "postgres")
	return files{
		dir:       dir,
		home:      home,
		data:      filepath.Join(home, "data"),
		password:  filepath.Join(home, "password"),
		port:      filepath.Join(home, "port"),
		log:       filepath.Join(home, "server.log"),
		startLock: filepath.Join(home, "start.lock"),
		ownerLock: filepath.Join(home, "owner.lock"),
	}
}

// prepare creates the folders and checks that the server's user can enter them.
func (f files) prepare(ctx context.Context, acct account) error {
	if err := os.MkdirAll(f.dir, 0o755); err != nil { //nolint:gosec // the server's user passes it on the way to home, which only that user can enter
		return err
	}
	err := os.Mkdir(f.home, 0o700)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := acct.own(f.home); err != nil {
		return err
	}
	return acct.enter(ctx, f.home)
}

// readMajor returns the major version of the data directory; 0 when there is none yet.
func (f files) readMajor() (int, error) {
	b, err := os.ReadFile(filepath.Join(f.data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		if entries, dirErr := os.ReadDir(f.data); dirErr == nil {
			return 0, fmt.Errorf("%s exists (%d entries) but is no PostgreSQL data directory; move it away; it is never deleted",
				f.data, len(entries))
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("PG_VERSION in %s: %w", f.data, err)
	}
	return major, nil
}

func (f files) readPassword() (string, error) {
	b, err := os.ReadFile(f.password)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

// ensurePassword reads the password. It creates one only while there is no data directory, which would have another
// password.
func (f files) ensurePassword(acct account, hasData bool) (string, error) {
	password, err := f.readPassword()
	if err == nil && password != "" {
		return password, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if hasData {
		return "", fmt.Errorf("the password file %s is missing or empty, but there is data; restore it "+
			"(user %s), or set another password with the server in single-user mode", f.password, Role)
	}
	raw := make([]byte, 24)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	password = hex.EncodeToString(raw)
	// initdb reads the file as the server's user.
	return password, writeWhole(f.password, password+"\n", acct)
}

// readPort returns the port of the last run; 0 when there is none.
func (f files) readPort() int {
	b, err := os.ReadFile(f.port)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n < 1 || n > 65535 {
		return 0
	}
	return n
}

// pidFile is postmaster.pid, which a server writes while it runs and leaves behind when it is killed.
type pidFile struct{ pid, port int }

// readPidFile reads postmaster.pid: process id in line 1, port in line 4
// (https://www.postgresql.org/docs/current/storage-file-layout.html).
func (f files) readPidFile() (pidFile, bool) {
	b, err := os.ReadFile(filepath.Join(f.data, "postmaster.pid"))
	if err != nil {
		return pidFile{}, false
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) < 4 {
		return pidFile{}, false
	}
	pid, errPid := strconv.Atoi(strings.TrimSpace(lines[0]))
	port, errPort := strconv.Atoi(strings.TrimSpace(lines[3]))
	if errPid != nil || errPort != nil || pid <= 1 || port < 1 {
		return pidFile{}, false
	}
	return pidFile{pid: pid, port: port}, true
}

// logTail returns the end of the server's log from offset on, for error messages.
func (f files) logTail(offset int64) string {
	b, err := os.ReadFile(f.log)
	if err != nil || int64(len(b)) <= offset {
		return "(no log)"
	}
	b = b[offset:]
	const most = 2000
	if len(b) > most {
		b = b[len(b)-most:]
	}
	return strings.TrimSpace(string(b))
}

// writeWhole replaces a file of mode 0600 so that a crash leaves either the old or the new content.
func writeWhole(path, content string, acct account) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // created with mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(content)
	err = errors.Join(err, tmp.Sync(), tmp.Close(), acct.own(tmp.Name()))
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename in the folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
