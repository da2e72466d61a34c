package harness

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Bouncer is a PgBouncer in transaction mode in front of one database, on loopback.
type Bouncer struct {
	*Process
	url string
}

// bouncerConfig has few server connections, so that the transactions of one client use different ones.
const bouncerConfig = `[databases]
%s = host=%s port=%s dbname=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
default_pool_size = 6
max_client_conn = 500
server_tls_sslmode = disable
`

// StartBouncer starts PgBouncer in front of the database of databaseURL, with more lines for its section [pgbouncer]. It
// ends with the test. A machine without PgBouncer fails the test: scripts/deps pgbouncer installs it.
func StartBouncer(t testing.TB, databaseURL string, settings ...string) *Bouncer {
	t.Helper()
	program, err := bouncerProgram()
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	for try := 1; ; try++ { // another program may take the port first
		b, err := startBouncer(t, program, to, settings)
		if err == nil {
			return b
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
}

func startBouncer(t testing.TB, program string, to *url.URL, settings []string) (*Bouncer, error) {
	t.Helper()
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	attr, own, err := bouncerAccount()
	if err != nil {
		return nil, err
	}
	dir, name := NewDir(t), strings.TrimPrefix(to.Path, "/")
	users, config := filepath.Join(dir, "users.txt"), filepath.Join(dir, "pgbouncer.ini")
	password, _ := to.User.Password()
	text := fmt.Sprintf(bouncerConfig, name, to.Hostname(), to.Port(), name, port, users) + strings.Join(settings, "\n") + "\n"
	for file, content := range map[string]string{users: fmt.Sprintf("%q %q\n", to.User.Username(), password), config: text} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return nil, err
		}
		if err := own(file); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(program, config)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, environment(nil), attr
	b := &Bouncer{Process: startCommand(t, "pgbouncer", func(line string) bool { return strings.Contains(line, "process up") }, cmd)}
	if _, err := b.readyLine(); err != nil {
		return nil, err
	}
	at := *to
	at.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	b.url = at.String()
	return b, nil
}

// URL returns the URL of the database through the pooler.
func (b *Bouncer) URL() string { return b.url }

// bouncerProgram returns the path of PgBouncer. It also searches /usr/sbin, where packages install it and which is in no
// user's PATH.
func bouncerProgram() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("PgBouncer is not installed: scripts/deps pgbouncer")
}

// bouncerAccount returns the user of PgBouncer, which refuses to run as root, and a function that makes this user the owner
// of a file.
func bouncerAccount() (attr *syscall.SysProcAttr, own func(path string) error, err error) {
	if attr = endWithParent(); attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	if os.Geteuid() != 0 {
		return attr, func(string) error { return nil }, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, lookupErr := user.Lookup(name)
		if lookupErr != nil {
			continue
		}
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		if errU != nil || errG != nil {
			continue
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return attr, func(path string) error { return os.Chown(path, int(uid), int(gid)) }, nil
	}
	return nil, nil, fmt.Errorf("PgBouncer does not run as root, and there is neither a user postgres nor a user nobody")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil //nolint:forcetypeassert,errcheck // of a TCP listener
}
