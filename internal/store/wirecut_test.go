package store

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// cut is where a wire is cut at a COMMIT.
type cut int

const (
	cutBefore cut = iota + 1 // COMMIT never reaches the server
	cutAfter                 // the server has committed and answered; the answer never reaches the client
)

// wireCutter is a proxy in front of PostgreSQL that understands the protocol's frames and breaks a connection at its COMMIT. Every
// connection goes through until a cut is armed; each armed cut is used once.
type wireCutter struct {
	t        *testing.T
	listener net.Listener
	server   string

	mu    sync.Mutex
	armed []cut
	used  int
	conns []net.Conn
	wg    sync.WaitGroup
}

// newWireCutter stands in front of the server of dsn and returns the connection string through it.
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
	w.used++
	return c
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
	var named commitStatements
	for {
		b, err := frame(l.client, true)
		if err != nil {
			return
		}
		if isCommit(b) || named.commit(b) {
			switch l.w.next() {
			case cutBefore:
				return
			case cutAfter:
				l.mu.Lock()
				l.swallow = true
				l.mu.Unlock()
			}
		}
		if _, err := l.server.Write(b); err != nil {
			return
		}
	}
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
		swallow := l.swallow
		l.mu.Unlock()
		if swallow && b[0] == 'C' && bytes.Equal(b[5:], []byte("COMMIT\x00")) {
			return // CommandComplete: it is committed
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

// commitStatements are the names of a connection's prepared COMMITs: inside a pipeline, it is not a simple query.
type commitStatements map[string]bool

// commit notes a Parse of COMMIT, and tells whether the frame binds one.
func (n *commitStatements) commit(b []byte) bool {
	switch b[0] {
	case 'P':
		var p pgproto3.Parse
		if p.Decode(b[5:]) == nil {
			if *n == nil {
				*n = commitStatements{}
			}
			(*n)[p.Name] = bytes.EqualFold([]byte(p.Query), []byte("commit"))
		}
	case 'B':
		var m pgproto3.Bind
		return m.Decode(b[5:]) == nil && (*n)[m.PreparedStatement]
	}
	return false
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
