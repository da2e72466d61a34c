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

// DefaultName is the name of the folder that DefaultDir returns in the working directory.
const DefaultName = ".refundry"

// systemDir replaces it when the server's user has no access to the working directory.
const systemDir = "/var/lib/refundry"

// DefaultDir returns the folder of a local server without a configured one, as an absolute path: .refundry in the working
// directory, or /var/lib/refundry when this process is root and PostgreSQL's user cannot enter the working directory, for
// example a clone below root's home.
func DefaultDir() string { return defaultDir(context.Background()) }

func defaultDir(ctx context.Context) string {
	dir, err := filepath.Abs(DefaultName)
	if err != nil {
		return systemDir // the working directory does not exist any more
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

// account is the user of the server's processes. PostgreSQL refuses to run as root, so root uses another user; everybody
// else is the user.
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

// sysProcAttr starts a child as the account, in a session of its own: a Ctrl-C on the terminal must reach Refundry only,
// which drains and then stops the server.
func (a account) sysProcAttr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.borrowed {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)} //nolint:gosec // ids come from the user database
	}
	return attr
}

// own makes the account the owner of path. A normal user owns it already.
func (a account) own(path string) error {
	if !a.borrowed {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

// enter returns an error when the account cannot make dir its working directory. It tries with a child, since mode bits do
// not include ACLs and mounts; the child changes its user first and its directory second. The path is made absolute, since
// a child can always enter the inherited ".".
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

// serverEnv returns the environment of the server's programs: ours without the PG variables, such as PGDATA, and with one
// locale.
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
