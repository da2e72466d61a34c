package devdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refundry/refundry/internal/clock"
)

// ErrPortTaken means that another program uses the port; the text says which kind.
var ErrPortTaken = errors.New("the port is taken")

// identity is the kind of program that answers on a port.
type identity int

const (
	nobody   identity = iota // connection refused
	ours                     // our server with our data directory, ready
	notReady                 // a PostgreSQL that starts, stops or has no free connection
	otherPG                  // another PostgreSQL
	unclear                  // anything else: another protocol, or a server that stops
)

func (i identity) String() string {
	return [...]string{"nobody", "our server", "a PostgreSQL that is not ready",
		"another PostgreSQL", "something that does not speak PostgreSQL"}[i]
}

// identify connects and asks for the data directory. Process ids and lock files can be stale; the server is ours only if it
// accepts our password and has our data directory. The error is the reason for any other result.
func identify(ctx context.Context, port int, password, dataDir string) (identity, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, connString(port, password, "postgres"))
	if err != nil {
		return classify(err), err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing was written
	var dir string
	if err := conn.QueryRow(ctx, "SELECT current_setting('data_directory')").Scan(&dir); err != nil {
		return classify(err), err
	}
	if !samePath(dir, dataDir) {
		return otherPG, fmt.Errorf("it serves %s", dir)
	}
	return ours, nil
}

func classify(err error) identity {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		switch pgErr.Code {
		case "57P03", // starting up, shutting down, recovering
			"57P01", "57P02", // being shut down, crashed
			"53300": // no connection slot left
			return notReady
		}
		return otherPG
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nobody
	}
	return unclear
}

// settle repeats identify until the result is final: nobody, ours or otherPG. It waits for a server that is not ready until
// ctx ends, and accepts unclear after two seconds, since a server that stops cuts connections too.
func settle(ctx context.Context, port int, password, dataDir string) (identity, error) {
	unclearUntil := time.Now().Add(2 * time.Second)
	for {
		who, why := identify(ctx, port, password, dataDir)
		switch who {
		case nobody, ours, otherPG:
			return who, why
		case unclear:
			if time.Now().After(unclearUntil) {
				return unclear, why
			}
		case notReady:
		}
		if err := clock.Pause(ctx, 50*time.Millisecond); err != nil {
			return who, errors.Join(err, why)
		}
	}
}

// samePath reports whether two folders are the same after resolving symbolic links.
func samePath(a, b string) bool {
	ra, errA := filepath.EvalSymlinks(a)
	rb, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && ra == rb
}

// portFree reports whether a server could listen on the port now.
func portFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // listening does not block
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// pickPort returns a free port below the range of the local ports of outgoing connections, so that none of these occupies
// it later. The search starts at a port that depends on the folder, so that two servers rarely choose the same one.
func pickPort(dir string, after int) (int, error) {
	const first, count = 20000, 10000
	start := 0
	for _, c := range []byte(dir) {
		start = (start*31 + int(c)) % count
	}
	if after >= first && after < first+count {
		start = after - first + 1
	}
	for i := range count {
		if port := first + (start+i)%count; portFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d on 127.0.0.1", first, first+count-1)
}
