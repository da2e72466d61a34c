package bridgetest

import (
	"net"
	"sync"
	"testing"
)

// mode is the behaviour of a proxy.
type mode int

const (
	passing    mode = iota
	blackholed      // connections stay open, and no bytes are read or passed on
	stalled         // bytes of clients are not read; bytes of the broker are passed on
	cut             // connections are closed and new ones refused
)

// proxy stands before all addresses of a broker. Its mode simulates failures of the network.
type proxy struct {
	route any // of the broker, through the proxy

	mu      sync.Mutex
	changed *sync.Cond
	mode    mode
	conns   map[net.Conn]bool
	closed  bool
	dials   int
}

func newProxy(t testing.TB, b Broker) *proxy {
	p := &proxy{conns: map[net.Conn]bool{}}
	p.changed = sync.NewCond(&p.mu)
	p.route = b.Via(t, func(target string) string { return p.front(t, target) })
	return p
}

// front starts to listen for target and returns the address.
func (p *proxy) front(t testing.TB, target string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { p.accept(l, target, &done) })
	t.Cleanup(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		_ = l.Close()
		p.set(cut)
		done.Wait()
	})
	return l.Addr().String()
}

// dialed is the number of connections of clients.
func (p *proxy) dialed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// set changes the mode of all connections, present and future.
func (p *proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	if m == cut {
		for c := range p.conns {
			_ = c.Close()
		}
	}
	p.changed.Broadcast()
}

func (p *proxy) accept(l net.Listener, target string, done *sync.WaitGroup) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.dials++
		p.mu.Unlock()
		broker, err := net.Dial("tcp", target)
		if err != nil || !p.keep(client, broker) {
			_ = client.Close()
			if broker != nil {
				_ = broker.Close()
			}
			continue
		}
		done.Go(func() { p.copy(broker, client, true) })
		done.Go(func() { p.copy(client, broker, false) })
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == cut {
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

// copy passes bytes on as long as the mode allows it.
func (p *proxy) copy(to, from net.Conn, fromClient bool) {
	defer func() {
		_, _ = to.Close(), from.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, to)
		delete(p.conns, from)
	}()
	buf := make([]byte, 32<<10)
	for p.waitUntilAllowed(fromClient) {
		n, err := from.Read(buf)
		if n > 0 && p.waitUntilAllowed(fromClient) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// waitUntilAllowed waits until the mode allows bytes to pass. false = the connection is closed.
func (p *proxy) waitUntilAllowed(fromClient bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && (p.mode == blackholed || p.mode == stalled && fromClient) {
		p.changed.Wait()
	}
	return !p.closed && p.mode != cut
}
