// Package nats consumes NATS JetStream with a durable pull consumer. Each message is acknowledged after COMMIT, and the server
// confirms each acknowledgement.
//
// Behaviour of nats-server 2.15 and nats.go 1.55 that the package relies on:
//
//   - An acknowledgement is not bound to a connection; one that comes after AckWait is still accepted. This is harmless, because a
//     message is acknowledged only after its outcome is stored.
//   - With MaxDeliver set, the server silently stops delivering a message after so many deliveries. Therefore it is -1, and the
//     bridge counts tries.
//   - A pull request that waits at a server is lost with that server or with the connection. Missing heartbeats reveal this; the
//     Source fails, and the next one sends a new request.
//   - The server silently drops a message whose Nats-Msg-Id it knows, whatever its body. No guarantee of the bridge depends on it.
package nats

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Config of a subscription. The fields of the first block are required.
type Config struct {
	URL      string   // nats://host:port or tls://host:port, several separated by commas; without a user
	Stream   string   // JetStream stream
	Durable  string   // consumer at the server, "refundry-<bridge>"
	Subjects []string // of the stream that are consumed

	SubjectForm  string // where subjects show tenant and type, see Settings.SubjectForm; "" = nowhere
	CreateStream bool   // create a missing stream with file storage and these subjects. A missing consumer is always created
	TLS          TLS
	Credentials  Credentials

	AckWait time.Duration // after which the server delivers a message again that was neither acknowledged nor held; default 60 s
	Wait    time.Duration // how long a fetch waits for a first message; default 10 s. The heartbeat is a quarter of it
	Dial    time.Duration // timeout of connecting, and of a single request to the server; default 5 s
	Memory  int           // bytes of the messages of one fetch; default 16 MiB, at least the largest message of the server
	Logger  *slog.Logger
}

// TLS are the paths of files. Empty = the system's certificates and no client certificate.
type TLS struct {
	CAFile, CertFile, KeyFile string
}

// Credentials of the bridge. At most one kind is set. Token and Password are secrets.
type Credentials struct {
	File           string // a .creds file with a JWT and its seed
	NKeyFile       string // a seed of an nkey
	Token          string
	User, Password string
}

func (c Config) complete() (Config, error) {
	if c.URL == "" || c.Stream == "" || c.Durable == "" || len(c.Subjects) == 0 {
		return c, errors.New("nats: url, stream, durable and subjects are required")
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

// options are the options of the connection. It reconnects for ever, and every write has a timeout.
func (c Config) options() ([]nats.Option, error) {
	out := []nats.Option{
		nats.Name("refundry " + c.Durable), nats.Timeout(c.Dial), nats.FlusherTimeout(c.Dial),
		nats.MaxReconnects(-1), nats.ReconnectWait(c.Dial / 10), nats.ReconnectJitter(c.Dial/10, c.Dial/5),
		nats.PingInterval(2 * c.Dial), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.Logger.Warn("nats", "error", err.Error()) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil = closed by us
				c.Logger.Warn("nats connection lost", "error", err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { c.Logger.Info("nats connection restored") }),
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

// MaxAckPending bounds the messages that the server delivers before acknowledgements come. It allows three groups of two replicas and
// some more.
const MaxAckPending = 1000

// consumer is the configuration of the durable consumer. It starts with the first message of the stream: a consumer that was deleted
// and created again delivers all messages again, and known events are replays.
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
