package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/refund/intake"
)

// Config of a Bridge. The fields of the first block are required.
type Config struct {
	Name           string // the consumer: part of the identity of every event, must never change
	Broker         string // name of the broker's kind, for logs and transports: nats, …
	Open           Opener
	Door           Door
	ParkedMessages ParkedMessages
	Deliveries     Deliveries
	Tenants        Tenants
	Allowed        []string // codes of the tenants whose events are accepted

	MaxBatch  int           // messages of a group; default 128. At most three groups are in memory
	MaxBody   int           // bytes of a body that is decoded; a longer one is parked; default 1 MiB
	HoldEvery time.Duration // interval at which held messages are renewed at the broker; default 20 s
	Rate      float64       // messages a second; 0 = no limit
	Undated   bool          // accept events without a time of their own or of the broker; default: park them
	Retry     time.Duration // first pause while the database is unavailable, doubling up to 30 times of it; default 200 ms
	Patience  time.Duration // timeout of one transaction, and of the acknowledgements of a group; default 30 s
	Alone     int           // from this try on, a message is tried in a group of its own; default 6
	GiveUp    int           // before this try, a message is parked as ParkGivenUp; default 11. See the type Bridge
	Logger    *slog.Logger
	Clock     func() time.Time
	// Observe counts for metrics; nil = not counted.
	Observe Observer
}

// Bridge processes the messages of one subscription: it fetches a group, decodes it, passes it to the Door and acknowledges it after
// a known COMMIT. While the database is unavailable it holds its messages and fetches no others. Start and Stop are called once.
//
// A message that fails for a reason of its own is tried again with growing pauses; the other messages go on. From the try Alone on it is
// tried in a group of its own. Before the try GiveUp it is parked with the reason ParkGivenUp. If that try succeeds, its transaction
// closes the parked row; if it fails, the message stays parked and is acknowledged. The broker's earlier deliveries count as tries, so
// that a message that crashes the process is parked too. A busy refund, an account that this process does not know, and an
// outage of the database are not counted as tries.
//
// Its methods are in bridge.go (life cycle), decode.go (decoding) and work.go (deciding and parking).
type Bridge struct {
	cfg     Config
	log     *slog.Logger
	allowed map[string]bool
	limit   *rate.Limiter
	tenants map[string]cachedTenant // used by the storing goroutine only

	accepting     context.Context // ends with Stop: no new work
	stopAccepting context.CancelFunc
	running       context.Context // ends when Stop's time is over: what is under way is cut off
	stopRunning   context.CancelFunc
	ended         sync.WaitGroup

	mu      sync.Mutex
	current Source
}

// New checks the configuration and applies defaults. Nothing runs before Start.
func New(cfg Config) (*Bridge, error) {
	if cfg.Name == "" || cfg.Open == nil || cfg.Door == nil || cfg.ParkedMessages == nil || cfg.Deliveries == nil || cfg.Tenants == nil ||
		len(cfg.Allowed) == 0 {
		return nil, errors.New("bridge: Name, Open, Door, ParkedMessages, Deliveries, Tenants and at least one allowed tenant are required")
	}
	if cfg.Name == intake.ConsumerREST || cfg.Name == intake.ConsumerEvents {
		return nil, fmt.Errorf("bridge: the name %q is reserved", cfg.Name)
	}
	orInt(&cfg.MaxBatch, 128)
	orInt(&cfg.MaxBody, 1<<20)
	orInt(&cfg.Alone, 6)
	orInt(&cfg.GiveUp, 11)
	orDuration(&cfg.HoldEvery, 20*time.Second)
	orDuration(&cfg.Retry, 200*time.Millisecond)
	orDuration(&cfg.Patience, 30*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Observe == nil {
		cfg.Observe = noObserver{}
	}
	b := &Bridge{cfg: cfg, log: cfg.Logger.With("bridge", cfg.Name, "broker", cfg.Broker), allowed: map[string]bool{},
		tenants: map[string]cachedTenant{}, limit: rate.NewLimiter(rate.Inf, cfg.MaxBatch)}
	b.accepting, b.stopAccepting = context.WithCancel(context.Background())
	b.running, b.stopRunning = context.WithCancel(context.Background())
	for _, code := range cfg.Allowed {
		b.allowed[code] = true
	}
	if cfg.Rate > 0 {
		b.limit.SetLimit(rate.Limit(cfg.Rate))
	}
	return b, nil
}

func orInt(v *int, d int) {
	if *v <= 0 {
		*v = d
	}
}

func orDuration(v *time.Duration, d time.Duration) {
	if *v <= 0 {
		*v = d
	}
}

// Start begins to consume. It does not wait for the broker and returns nil: an unavailable broker is retried until Stop.
func (b *Bridge) Start(context.Context) error {
	b.ended.Go(b.supervise)
	return nil
}

// Stop drains the bridge: it ends fetching, and fetched messages are decided and acknowledged until ctx ends. Open messages, which are
// busy or have failed, are not tried again. Every message that is not acknowledged is returned to the broker. Stop returns when no
// goroutine of the bridge runs. Errors: the bridge was not drained in time.
func (b *Bridge) Stop(ctx context.Context) error {
	b.stopAccepting()
	defer b.stopRunning()
	done := make(chan struct{})
	go func() { b.ended.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	b.stopRunning()
	<-done
	return fmt.Errorf("bridge %s: not drained in time: %w", b.cfg.Name, ctx.Err())
}

// Lag is the number of messages that wait at the broker. ok is false without a Source that can count them.
func (b *Bridge) Lag(ctx context.Context) (pending int64, ok bool) {
	b.mu.Lock()
	source := b.current
	b.mu.Unlock()
	l, can := source.(Lagger)
	if !can {
		return 0, false
	}
	pending, err := l.Lag(ctx)
	return pending, err == nil
}

// Name is the consumer's name.
func (b *Bridge) Name() string { return b.cfg.Name }

// supervise opens one Source after the other. Between two it pauses; the pauses are jittered and grow until a Source has worked.
func (b *Bridge) supervise() {
	for fails := 0; b.accepting.Err() == nil; {
		worked, err := b.useSource()
		if b.accepting.Err() != nil {
			return
		}
		if worked {
			fails = 0
		}
		fails++
		wait := b.backoff(fails)
		b.log.Warn("source closed, opening another", "error", fmt.Sprint(err), "in", wait)
		_ = clock.Pause(b.accepting, wait) // the loop ends with the context
	}
}

// closeTime is the timeout of Source.Close.
const closeTime = 5 * time.Second

// useSource opens a Source, processes its messages until it fails or the bridge stops, and closes it: Close returns the messages that
// are not acknowledged to the broker. worked reports that the Source worked for a while.
func (b *Bridge) useSource() (worked bool, err error) {
	source, err := b.cfg.Open(b.accepting)
	if err != nil {
		return false, err
	}
	b.cfg.Observe.Opened(b.cfg.Name)
	b.setCurrent(source)
	defer func() {
		b.setCurrent(nil)
		end, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		err = errors.Join(err, source.Close(end))
	}()
	run := newRun(b, source)
	err = run.work()
	return run.worked.Load(), err
}

func (b *Bridge) setCurrent(s Source) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = s
}

// backoff returns the pause after so many failures in a row: it doubles from Retry up to 30 times of it, with a jitter of ± 50 %.
func (b *Bridge) backoff(failures int) time.Duration {
	return clock.Backoff{First: b.cfg.Retry, Longest: 30 * b.cfg.Retry, Share: 0.5}.After(failures)
}
