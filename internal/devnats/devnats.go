// Package devnats runs a real nats-server with JetStream inside this process: the broker of `refundry dev` and of tests. It
// listens on loopback only, and every message is on disk before its publisher is told so.
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

// Config says where the server runs. Dir is needed.
type Config struct {
	Dir        string        // its data lies in Dir/nats and is found again by the next run
	Listen     string        // host:port on loopback; default 127.0.0.1:4222; port 0 = any free one
	AnyPort    bool          // a free port when the one of Listen is taken
	MaxPayload int           // bytes of a message; default 1 MiB
	Patience   time.Duration // of the start; default 20 s
	Logger     *slog.Logger  // hears errors and warnings; default: nobody
}

// Server is a running server.
type Server struct {
	server *server.Server
}

// Start returns when clients can connect. An address that somebody else uses is an error that says so.
func Start(cfg Config) (*Server, error) {
	if cfg.Dir == "" {
		return nil, errors.New("devnats: a folder is needed")
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
	if err != nil && cfg.AnyPort && port != server.RANDOM_PORT { // somebody was faster between our look and the server's listening
		s, err = run(cfg, host, server.RANDOM_PORT)
	}
	return s, err
}

// run starts a server and returns when clients can connect, or as soon as it is clear that they never will.
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

// readyLook is how long one look at a starting server waits.
const readyLook = 100 * time.Millisecond

var errTaken = errors.New("is in use")

// loopback takes an address apart and sees that it is free. nats-server itself ends the process when it cannot listen.
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
	l, err := net.Listen("tcp", listen) //nolint:noctx // bound and let go at once
	if errors.Is(err, syscall.EADDRINUSE) {
		return host, 0, fmt.Errorf("nats: %s %w (another broker, or another dev): choose another address with --nats, port 0 takes any free one", listen, errTaken)
	}
	if err != nil {
		return "", 0, fmt.Errorf("nats: %w", err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, l.Close()
}

// URL is where clients connect.
func (s *Server) URL() string { return "nats://" + s.Addr() }

// Addr is host:port.
func (s *Server) Addr() string { return s.server.Addr().String() }

// Stop ends the server; what it was told is on disk.
func (s *Server) Stop() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

// logger writes what the server says to ours, and tells whoever starts it that it has given up.
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
	default: // the first reason is the one
	}
}
func (l logger) Debugf(string, ...any) {}
func (l logger) Tracef(string, ...any) {}
