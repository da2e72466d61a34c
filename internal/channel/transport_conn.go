package channel

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/refundry/refundry/internal/fault"
)

// guardedConn asks the attempt that it carries before every write. Under TLS it
// is the connection below, so what it lets through is what leaves the process.
type guardedConn struct {
	net.Conn
	carries atomic.Pointer[attempt]
}

// Write implements net.Conn. Before the first attempt it lets everything pass:
// that is the TLS handshake, which tells the channel nothing about a refund.
func (c *guardedConn) Write(p []byte) (int, error) {
	a := c.carries.Load()
	if a == nil {
		return c.Conn.Write(p)
	}
	left, err := a.mayWrite(c)
	if err != nil {
		return 0, err
	}
	if err := c.SetWriteDeadline(time.Now().Add(left)); err != nil {
		a.wrote(c, 0)
		return 0, err
	}
	n, err := c.Conn.Write(p)
	a.wrote(c, n)
	fault.Point(fault.WireSent)
	return n, err
}

// guardDial wraps what dial connects, and gives up when the time to send is over.
func guardDial(dial dialFunc, timeout time.Duration) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if a := attemptOf(ctx); a != nil {
			left := a.budget.left()
			if left <= 0 {
				return nil, errPastBudget
			}
			timeout := min(timeout, left)
			dialCtx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			ctx = dialCtx
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &guardedConn{Conn: conn}, nil
	}
}

// arm ties the attempt to whatever connection the request is given, each time it
// is given one: net/http takes a second connection when a reused one breaks.
func (a *attempt) arm(info httptrace.GotConnInfo) {
	conn := info.Conn
	for {
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = outer.NetConn()
	}
	guarded, ok := conn.(*guardedConn)
	if !ok {
		a.refuse(errUnguarded)
		_ = info.Conn.Close()
		return
	}
	guarded.carries.Store(a)
}
