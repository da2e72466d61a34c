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

// ErrPortTaken means that the port is in other hands; the text says whose.
var ErrPortTaken = errors.New("the port is taken")

// identity is what answers on a port.
type identity int

const (
	nobody   identity = iota // connection refused
	ours                     // our server with our data directory, ready
	notReady                 // a PostgreSQL that starts, stops or has no connection left
	otherPG                  // a PostgreSQL that is not ours
	unclear                  // anything else: a foreign protocol, or a server that just went down
)

func (i identity) String() string {
	return [...]string{"nobody", "our server", "a PostgreSQL that is not ready",
		"another PostgreSQL", "something that does not speak PostgreSQL"}[i]
}

// identify connects and asks for the data directory. Process ids and lock files
// can be stale; only a server that lets us in with our password and names our
// data directory is ours. The error is the reason for any other answer.
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

// settle asks until the answer is final: nobody, ours or otherPG. A server that
// is not ready is waited for until ctx ends; an unclear answer is believed after
// two seconds, because a server that goes down cuts connections too.
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

// samePath compares two folders with symbolic links resolved.
func samePath(a, b string) bool {
	ra, errA := filepath.EvalSymlinks(a)
	rb, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && ra == rb
}

// portFree tells whether a server could bind the port now.
func portFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // binds and lets go, never blocks
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// pickPort takes a free port below the range from which systems draw the local
// ports of outgoing connections, so that none of these sits on it next time.
// The search starts at a place that depends on the folder: two folders rarely race for one port.
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
