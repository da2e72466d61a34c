// Package nats feeds a bridge from NATS JetStream: a durable pull consumer, acknowledged message by message after COMMIT, each
// acknowledgement confirmed by the server.
//
// What is built on, as seen with nats-server 2.15 and nats.go 1.55:
//
//   - An acknowledgement is not bound to a connection; one that comes after AckWait is still taken. That is harmless here, since
//     a message is acknowledged only when its fate is durable.
//   - With MaxDeliver set, a message that was delivered so often is never delivered again and nobody is told. So it is -1, and
//     tries are counted by the bridge.
//   - A pull request that waits at a server dies with that server or with the connection. Missing heartbeats tell; the
//     incarnation ends and a new one asks again.
//   - The server's window against duplicates (Nats-Msg-Id) drops a message with a known id silently, whatever its body. It is
//     no part of any guarantee here.
package nats

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Config of a subscription. The first block is needed.
type Config struct {
	URL      string   // nats://host:port or tls://host:port, several separated by commas; without a user
	Stream   string   // JetStream stream
	Durable  string   // consumer at the server, "refundry-<bridge>"
	Subjects []string // of the stream that are consumed

	CreateStream bool // make the stream, with file storage and these subjects, when it is not there. The consumer is always made
	TLS          TLS
	Credentials  Credentials

	AckWait time.Duration // after which the server delivers again what was neither acknowledged nor held; default 60 s
	Wait    time.Duration // how long a fetch waits for a first message; default 10 s. Heartbeats come four times as often
	Dial    time.Duration // of a connection, and of a single request to the server; default 5 s
	Memory  int           // bytes of the messages of one fetch; default 16 MiB, at least the server's largest message
	Logger  *slog.Logger
}

// TLS names files. Empty = the system's certificates and no client certificate.
type TLS struct {
	CAFile, CertFile, KeyFile string
}

// Credentials says who we are. At most one kind is set. The texts are secrets, read from their places by the caller.
type Credentials struct {
	File           string // a .creds file with a JWT and its seed
	NKeyFile       string // a seed of an nkey
	Token          string
	User, Password string
}

func (c Config) complete() (Config, error) {
	if c.URL == "" || c.Stream == "" || c.Durable == "" || len(c.Subjects) == 0 {
		return c, errors.New("nats: url, stream, durable and subjects are needed")
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&c.AckWait, time.Minute)
	def(&c.Wait, 10*time.Second)
	def(&c.Dial, 5*time.Second)
	if c.Memory <= 0 {
		c.Memory = 16 << 20
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// options of the connection: it reconnects for ever, and no write hangs for ever.
func (c Config) options() ([]nats.Option, error) {
	out := []nats.Option{
		nats.Name("refundry " + c.Durable), nats.Timeout(c.Dial), nats.FlusherTimeout(c.Dial),
		nats.MaxReconnects(-1), nats.ReconnectWait(c.Dial / 10), nats.ReconnectJitter(c.Dial/10, c.Dial/5),
		nats.PingInterval(2 * c.Dial), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.Logger.Warn("nats", "error", err.Error()) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // without one it was closed by us
				c.Logger.Warn("nats connection lost", "error", err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { c.Logger.Info("nats connection is back") }),
	}
	if c.TLS.CAFile != "" {
		out = append(out, nats.RootCAs(c.TLS.CAFile))
	}
	if c.TLS.CertFile != "" {
		out = append(out, nats.ClientCert(c.TLS.CertFile, c.TLS.KeyFile))
	}
	k := c.Credentials
	if k.File != "" {
		out = append(out, nats.UserCredentials(k.File))
	}
	if k.NKeyFile != "" {
		nkey, err := nats.NkeyOptionFromSeed(k.NKeyFile)
		if err != nil {
			return nil, fmt.Errorf("nats: nkey: %w", err)
		}
		out = append(out, nkey)
	}
	if k.Token != "" {
		out = append(out, nats.Token(k.Token))
	}
	if k.User != "" {
		out = append(out, nats.UserInfo(k.User, k.Password))
	}
	return out, nil
}

// MaxAckPending bounds what the server hands out before acknowledgements come: three groups of two replicas and some.
const MaxAckPending = 1000

// consumer is the durable as we want it. It starts with the first message of the stream: one that was deleted and is made again
// delivers everything anew, and what was known is a replay.
func (c Config) consumer() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: c.Durable, Description: "refundry bridge", FilterSubjects: c.Subjects,
		DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckExplicitPolicy, ReplayPolicy: jetstream.ReplayInstantPolicy,
		AckWait: c.AckWait, MaxDeliver: -1, MaxAckPending: MaxAckPending,
	}
}

func (c Config) stream() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: c.Stream, Description: "events for refundry", Subjects: c.Subjects, Storage: jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Duplicates: 2 * time.Minute}
}
