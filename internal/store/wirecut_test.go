package store

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// cut is where a wire is cut at a COMMIT.
type cut int

const (
	uncut     cut = iota // this one goes through
	cutBefore            // COMMIT never reaches the server
	cutAfter             // the server has committed and answered; the answer never reaches the client
)

// wireCutter is a proxy in front of PostgreSQL that parses the protocol's frames and breaks a connection at its COMMIT. Every connection
// passes until a cut is armed; each armed cut is used once.
type wireCutter struct {
	t        *testing.T
	listener net.Listener
	server   string

	mu    sync.Mutex
	armed []cut
	at    map[string][]cut // of statements that are a transaction of their own, by their text
	used  int
	conns []net.Conn
	wg    sync.WaitGroup
}

// newWireCutter starts a proxy in front of the server of dsn and returns the connection string through it.
func newWireCutter(t *testing.T, dsn string) (*wireCutter, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wireCutter{t: t, listener: l, server: u.Host}
	u.Host = l.Addr().String()
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	w.wg.Go(w.accept)
	t.Cleanup(w.close)
	return w, u.String()
}

// arm orders the next COMMITs to be cut, one each.
func (w *wireCutter) arm(cuts ...cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = append(w.armed, cuts...)
}

// armAt orders the next executions of a statement outside any transaction to be cut, one each: it commits by itself.
func (w *wireCutter) armAt(sql string, cuts ...cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at == nil {
		w.at = map[string][]cut{}
	}
	w.at[sql] = append(w.at[sql], cuts...)
}

// disarm takes back the cuts that were not made.
func (w *wireCutter) disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.at = nil, nil
}

// cuts is how many were made.
func (w *wireCutter) cuts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.used
}

func (w *wireCutter) next() cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.armed) == 0 {
		return 0
	}
	c := w.armed[0]
	w.armed = w.armed[1:]
	if c != 0 {
		w.used++
	}
	return c
}

func (w *wireCutter) nextAt(sql string) cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := w.at[sql]
	if len(left) == 0 {
		return 0
	}
	w.at[sql] = left[1:]
	w.used++
	return left[0]
}

func (w *wireCutter) close() {
	_ = w.listener.Close()
	w.mu.Lock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.wg.Wait()
}

func (w *wireCutter) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, client, server)
		w.mu.Unlock()
		l := &wire{w: w, client: client, server: server}
		w.wg.Go(l.requests)
		w.wg.Go(l.answers)
	}
}

// wire is one connection through the proxy.
type wire struct {
	w              *wireCutter
	client, server net.Conn
	mu             sync.Mutex
	swallow        bool // a COMMIT is on its way whose answer the client shall not see
	alone          bool // it is a statement that commits by itself
}

func (l *wire) cut() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// requests copies the client's frames. The first message has no type byte.
func (l *wire) requests() {
	defer l.cut()
	startup, err := frame(l.client, false)
	if err != nil {
		return
	}
	if _, err := l.server.Write(startup); err != nil {
		return
	}
	named := statements{}
	for {
		b, err := frame(l.client, true)
		if err != nil {
			return
		}
		at, alone := l.cutAt(b, named)
		switch at {
		case uncut:
		case cutBefore:
			return
		case cutAfter:
			l.mu.Lock()
			l.swallow, l.alone = true, alone
			l.mu.Unlock()
		}
		if _, err := l.server.Write(b); err != nil {
			return
		}
	}
}

// cutAt reports where to cut at this frame, and whether it is a statement that commits by itself.
func (l *wire) cutAt(b []byte, named statements) (at cut, alone bool) {
	if isCommit(b) {
		return l.w.next(), false
	}
	sql := named.bound(b)
	switch {
	case sql == "":
		return uncut, false
	case strings.EqualFold(sql, "commit"):
		return l.w.next(), false
	}
	return l.w.nextAt(sql), true
}

// answers copies the server's frames, and cuts when the answer to a marked COMMIT has come.
func (l *wire) answers() {
	defer l.cut()
	for {
		b, err := frame(l.server, true)
		if err != nil {
			return
		}
		l.mu.Lock()
		swallow, alone := l.swallow, l.alone
		l.mu.Unlock()
		if swallow && b[0] == 'C' && bytes.Equal(b[5:], []byte("COMMIT\x00")) {
			return // CommandComplete: it is committed
		}
		if swallow && alone && b[0] == 'Z' {
			return // ReadyForQuery: what commits by itself has done so
		}
		if swallow {
			continue
		}
		if _, err := l.client.Write(b); err != nil {
			return
		}
	}
}

// isCommit recognises the simple query that ends a transaction of pgx.
func isCommit(b []byte) bool {
	if b[0] != 'Q' {
		return false
	}
	var q pgproto3.Query
	return q.Decode(b[5:]) == nil && bytes.EqualFold([]byte(q.String), []byte("commit"))
}

// statements are a connection's prepared statements by name: inside a pipeline COMMIT is one of them, not a simple query.
type statements map[string]string

// bound notes a Parse, and gives the text of the statement that the frame binds, if it is a Bind.
func (n statements) bound(b []byte) string {
	switch b[0] {
	case 'P':
		var p pgproto3.Parse
		if p.Decode(b[5:]) == nil {
			n[p.Name] = p.Query
		}
	case 'B':
		var m pgproto3.Bind
		if m.Decode(b[5:]) == nil {
			return n[m.PreparedStatement]
		}
	}
	return ""
}

// frame reads one message with its header: a type byte (after start-up), then the length of the rest, itself included.
func frame(r io.Reader, typed bool) ([]byte, error) {
	head := 4
	if typed {
		head = 5
	}
	b := make([]byte, head)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(b[head-4:])) - 4
	if n < 0 || n > 64<<20 {
		return nil, io.ErrUnexpectedEOF
	}
	whole := make([]byte, head+n)
	copy(whole, b)
	_, err := io.ReadFull(r, whole[head:])
	return whole, err
}
