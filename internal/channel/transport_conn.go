package channel

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/refundry/refundry/internal/fault"
)

// guardedConn checks every write with the attempt that it carries. Under TLS it is the connection below, so what it writes
// is what leaves the process.
type guardedConn struct {
	net.Conn
	carries atomic.Pointer[attempt]
}

// Write implements net.Conn. Before the first attempt it writes everything: that is the TLS handshake, which contains
// nothing of a refund.
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

// guardDial guards the connections of dial, and ends dialing when the time to send is over.
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

// arm is the hook GotConn of net/http: from now on the connection asks this attempt before every write. net/http calls it again
// when a reused connection breaks and it takes another one; if the first one wrote a byte, the other one may not write. A
// connection that is not guarded is closed, and the attempt is refused.
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
