package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Timeouts and sizes of the server. writeTime covers the longest wait.
const (
	headerTime = 5 * time.Second
	idleTime   = 90 * time.Second
	writeTime  = MaxWait + 60*time.Second
	maxHeader  = 16 << 10
)

// API is the service as one http.Handler.
type API struct {
	handler  http.Handler
	retiring func()
	stopping func()
}

// New builds the API. Errors: a missing part of the configuration, an operation of the
// contract without a scope.
func New(c Config) (*API, error) {
	s, err := newService(c)
	if err != nil {
		return nil, err
	}
	mounted, err := s.mount(c)
	if err != nil {
		return nil, err
	}
	return &API{
		handler: &outer{next: mounted, problems: s.problems, log: s.problems.log, clock: s.clock, bodyTime: s.limits.BodyTime,
			retiring: s.retiring},
		retiring: sync.OnceFunc(func() { close(s.retiring) }),
		stopping: sync.OnceFunc(func() { close(s.stopping) }),
	}, nil
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Retire makes /readyz fail, and each answer closes its connection, so that load balancers
// and clients turn to other processes. Requests are served as before. It may be called
// more than once.
func (a *API) Retire() { a.retiring() }

// Drain is Retire, and ends the waits of callers. Running requests are still answered. It
// may be called more than once.
func (a *API) Drain() {
	a.retiring()
	a.stopping()
}

// ServerConfig is what a Server needs.
type ServerConfig struct {
	Listen  string       // host:port; port 0 = any free one
	Handler http.Handler // required
	API     *API         // drained when the server stops; nil = nothing to drain
	// DrainDelay is how long Retire leaves load balancers to notice that /readyz fails.
	DrainDelay time.Duration
	Log        *slog.Logger // default: discards
}

// Server serves HTTP until it is stopped.
type Server struct {
	cfg  ServerConfig
	http *http.Server
	addr net.Addr
	done chan error

	ended chan struct{} // closed when the server has ended
}

// NewServer prepares a server, which listens after Start. Errors: no address, no handler.
func NewServer(c ServerConfig) (*Server, error) {
	if c.Handler == nil || c.Listen == "" {
		return nil, errors.New("httpapi: a server needs an address and a handler")
	}
	c.Log = or(c.Log, slog.New(slog.DiscardHandler))
	return &Server{cfg: c, done: make(chan error, 1), ended: make(chan struct{}), http: &http.Server{
		Handler: c.Handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, WriteTimeout: writeTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug), // broken handshakes and other errors of clients
	}}, nil
}

// Start listens and returns; requests are served in the background. Errors: the server
// cannot listen on the address.
func (s *Server) Start(ctx context.Context) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return err
	}
	s.addr = l.Addr()
	go func() {
		err := s.http.Serve(l)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.done <- err
		close(s.done)
		close(s.ended)
	}()
	return nil
}

// Addr is the address on which a started server listens.
func (s *Server) Addr() net.Addr { return s.addr }

// Done yields the error that ended the server, nil after Stop.
func (s *Server) Done() <-chan error { return s.done }

// Retire retires the API and returns after DrainDelay, or when the server has ended.
func (s *Server) Retire() {
	if s.cfg.API != nil {
		s.cfg.API.Retire()
	}
	delay := time.NewTimer(s.cfg.DrainDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-s.ended:
	}
}

// Stop closes the listener, waits for running requests until ctx ends, then closes their
// connections.
func (s *Server) Stop(ctx context.Context) error {
	if s.cfg.API != nil {
		s.cfg.API.Drain()
	}
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}
