// Package devnats runs a nats-server with JetStream in this process, as the broker of `refundry dev` and of tests. It
// listens on loopback only, and a message is on disk before its publisher gets the acknowledgement.
package devnats

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Config configures Start. Dir is required.
type Config struct {
	Dir        string        // the data is in Dir/nats, also for the next run
	Listen     string        // host:port on loopback; default 127.0.0.1:4222; port 0 = any free one
	AnyPort    bool          // a free port when the one of Listen is taken
	MaxPayload int           // bytes of a message; default 1 MiB
	Patience   time.Duration // limit of the start; default 20 s
	Logger     *slog.Logger  // logs errors and warnings; default: no log
}

// Server is a running server.
type Server struct {
	server *server.Server
}

// Start starts a server and returns when clients can connect. It returns an error when the address is in use.
func Start(cfg Config) (*Server, error) {
	if cfg.Dir == "" {
		return nil, errors.New("devnats: Dir is required")
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:4222"
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 20 * time.Second
	}
	if cfg.MaxPayload <= 0 {
		cfg.MaxPayload = 1 << 20
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	host, port, err := loopback(cfg.Listen)
	if errors.Is(err, errTaken) && cfg.AnyPort {
		host, port, err = loopback(net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, err
	}
	s, err := run(cfg, host, port)
	if err != nil && cfg.AnyPort && port != server.RANDOM_PORT { // another program took the port between the check and the start
		s, err = run(cfg, host, server.RANDOM_PORT)
	}
	return s, err
}

// run starts a server. It returns when clients can connect, or as soon as the server has failed.
func run(cfg Config, host string, port int) (*Server, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "refundry-dev", Host: host, Port: port, JetStream: true, StoreDir: filepath.Join(cfg.Dir, "nats"), SyncAlways: true,
		MaxPayload: int32(min(cfg.MaxPayload, 64<<20)), NoSigs: true, // #nosec G115 -- bounded
	})
	if err != nil {
		return nil, fmt.Errorf("devnats: %w", err)
	}
	fatal := make(chan string, 1)
	s.SetLoggerV2(logger{cfg.Logger, fatal}, false, false, false)
	s.Start()
	for deadline := time.Now().Add(cfg.Patience); !s.ReadyForConnections(readyLook); {
		var why string
		select {
		case why = <-fatal:
		default:
			if time.Now().Before(deadline) {
				continue
			}
			why = fmt.Sprintf("not ready after %s", cfg.Patience)
		}
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("devnats: %s", why)
	}
	return &Server{s}, nil
}

// readyLook is how long one check of a starting server waits.
const readyLook = 100 * time.Millisecond

var errTaken = errors.New("is in use")

// loopback parses the address and checks that it is a free loopback address, since nats-server ends the process when it
// cannot listen.
func loopback(listen string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("nats: %q is not host:port", listen)
	}
	if port, err = strconv.Atoi(text); err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("nats: %q has no port", listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, fmt.Errorf("nats: %s is not a loopback address: the broker of dev is for this machine only", host)
	}
	l, err := net.Listen("tcp", listen) //nolint:noctx // listening does not block
	if errors.Is(err, syscall.EADDRINUSE) {
		return host, 0, fmt.Errorf("nats: %s %w (by another broker, or another dev): choose another address with --nats; port 0 = any free port", listen, errTaken)
	}
	if err != nil {
		return "", 0, fmt.Errorf("nats: %w", err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, l.Close()
}

// URL returns the URL for clients.
func (s *Server) URL() string { return "nats://" + s.Addr() }

// Addr returns host:port.
func (s *Server) Addr() string { return s.server.Addr().String() }

// Stop ends the server; acknowledged messages are on disk.
func (s *Server) Stop() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

// logger writes the server's log to the injected one, and reports a fatal error to run.
type logger struct {
	log   *slog.Logger
	fatal chan<- string
}

func (l logger) Noticef(format string, v ...any) {
	l.log.Debug("nats-server", "says", fmt.Sprintf(format, v...))
}
func (l logger) Warnf(format string, v ...any) {
	l.log.Warn("nats-server", "says", fmt.Sprintf(format, v...))
}
func (l logger) Errorf(format string, v ...any) {
	l.log.Error("nats-server", "says", fmt.Sprintf(format, v...))
}
func (l logger) Fatalf(format string, v ...any) {
	why := fmt.Sprintf(format, v...)
	l.log.Error("nats-server", "says", why)
	select {
	case l.fatal <- why:
	default: // only the first error counts
	}
}
func (l logger) Debugf(string, ...any) {}
func (l logger) Tracef(string, ...any) {}
