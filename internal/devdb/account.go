package devdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// DefaultName is the folder that DefaultDir proposes in the working directory.
const DefaultName = ".refundry"

// systemDir takes its place when the server's user cannot reach the former.
const systemDir = "/var/lib/refundry"

// DefaultDir is the folder of a local server when no other is configured, as an
// absolute path: .refundry in the working directory, or /var/lib/refundry when
// this process is root and PostgreSQL's user cannot enter the working directory
// (a clone under root's home, for example).
func DefaultDir() string { return defaultDir(context.Background()) }

func defaultDir(ctx context.Context) string {
	dir, err := filepath.Abs(DefaultName)
	if err != nil {
		return systemDir // the working directory is gone
	}
	acct, err := serverAccount()
	if err != nil {
		return dir
	}
	probe := dir
	if _, err := os.Stat(probe); err != nil {
		probe = filepath.Dir(dir)
	}
	if acct.enter(ctx, probe) != nil {
		return systemDir
	}
	return dir
}

// account is the user that the server's processes run as. PostgreSQL refuses to
// run as root, so root borrows another user; anybody else uses their own.
type account struct {
	name     string
	uid, gid int
	borrowed bool
}

func serverAccount() (account, error) {
	if euid := os.Geteuid(); euid != 0 {
		return account{name: "uid " + strconv.Itoa(euid), uid: euid, gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errU := strconv.Atoi(u.Uid)
		gid, errG := strconv.Atoi(u.Gid)
		if errU != nil || errG != nil || uid == 0 {
			continue
		}
		return account{name: name, uid: uid, gid: gid, borrowed: true}, nil
	}
	return account{}, errors.New("PostgreSQL does not run as root, and this system has neither a user postgres nor a user nobody")
}

// sysProcAttr starts a child as the account, in a session of its own: a Ctrl-C
// on the terminal must reach Refundry first, which drains and then stops it.
func (a account) sysProcAttr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.borrowed {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)} //nolint:gosec // ids come from the user database
	}
	return attr
}

// own gives path to the account. For a normal user it is theirs already.
func (a account) own(path string) error {
	if !a.borrowed {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

// enter tells whether the account can make dir its working directory. It asks
// the kernel by trying, since mode bits alone do not know about ACLs or mounts:
// a child changes its user first and its directory second. The path is made
// absolute: a child inherits the working directory, so "." can always be entered.
func (a account) enter(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "exit 0")
	cmd.Dir = dir
	cmd.Env = serverEnv()
	cmd.SysProcAttr = a.sysProcAttr()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("PostgreSQL runs as user %s, which cannot enter %s: "+
			"choose a folder whose parents all let others pass (chmod o+x), with --data: %w", a.name, dir, err)
	}
	return nil
}

// serverEnv is the environment of the server's programs: ours without PG…
// (PGDATA or PGPORT of a shell must not steer this server) and in one locale.
func serverEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "PG") || strings.HasPrefix(kv, "LC_") ||
			strings.HasPrefix(kv, "LANG") || strings.HasPrefix(kv, "REFUNDRY_") {
			continue
		}
		env = append(env, kv)
	}
	return append(env, "LC_ALL=C")
}
