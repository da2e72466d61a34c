package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/refundry/refundry/internal/refund"
)

// Door takes whole groups. One result per intake, in order.
type Door interface {
	AcceptEach(ctx context.Context, g []refund.Intake) ([]refund.Result, error)
}

// Lot keeps what the door cannot take, and the trace of deliveries.
type Lot interface {
	// ParkPoison keeps a message in a transaction of its own; the same place again counts up.
	ParkPoison(ctx context.Context, tenant refund.TenantID, ev refund.EventKey, reason string, p refund.Park) error
	// Trace notes deliveries. Losing a row loses trace, never a refund.
	Trace(ctx context.Context, d []refund.Delivery) error
}

// Tenants finds the tenants that a bridge may speak for.
type Tenants interface {
	// BridgeTenant gives a tenant by code. refund.ErrNotFound, refund.ErrUnavailable.
	BridgeTenant(ctx context.Context, code string) (refund.Tenant, error)
}

// Config of a Bridge. The first block is needed.
type Config struct {
	Name    string // the consumer's name: part of every event's identity, never to be changed
	Broker  string // for logs and transports: nats, …
	Open    Opener
	Door    Door
	Lot     Lot
	Tenants Tenants
	Allowed []string // codes of the tenants that it may speak for

	MaxBatch  int           // messages of a group; default 128
	MaxBody   int           // bytes of a body that is read; more is parked as it is; default 1 MiB
	HoldEvery time.Duration // how often held messages are renewed at the broker; default 20 s
	Rate      float64       // messages a second; 0 = no limit
	Retry     time.Duration // first pause when the database is away, doubling to 30 times of it; default 200 ms
	Alone     int           // deliveries from which a message is tried alone; default 6
	GiveUp    int           // deliveries from which a message that failed again is parked; default 11
	Logger    *slog.Logger
	Clock     func() time.Time
	// Observe is told what the bridge does, for metrics; nil = nobody.
	Observe Observer
}

// Observer counts what a bridge does.
type Observer interface {
	Delivered(consumer, outcome, cause string)
	Parked(consumer, reason string)
	Opened(consumer string)
}

type silent struct{}

func (silent) Delivered(string, string, string) {}
func (silent) Parked(string, string)            {}
func (silent) Opened(string)                    {}

// Bridge feeds the door from one subscription: fetch, decode, accept as one group, acknowledge after a known COMMIT.
// When the database is away it holds what it has and fetches nothing more. Start once, Stop once.
type Bridge struct {
	cfg     Config
	log     *slog.Logger
	allowed map[string]bool
	limit   *rate.Limiter
	tenants map[string]cachedTenant // used by the one working goroutine

	stop  chan struct{}
	quit  sync.Once
	ended sync.WaitGroup

	mu      sync.Mutex
	current Source
}

// New checks the configuration; nothing runs before Start.
func New(cfg Config) (*Bridge, error) {
	if cfg.Name == "" || cfg.Open == nil || cfg.Door == nil || cfg.Lot == nil || cfg.Tenants == nil || len(cfg.Allowed) == 0 {
		return nil, errors.New("bridge: name, source, door, lot, tenants and at least one allowed tenant are needed")
	}
	if cfg.Name == refund.ConsumerREST || cfg.Name == refund.ConsumerEvents {
		return nil, fmt.Errorf("bridge: the name %q is reserved", cfg.Name)
	}
	orInt(&cfg.MaxBatch, 128)
	orInt(&cfg.MaxBody, 1<<20)
	orInt(&cfg.Alone, 6)
	orInt(&cfg.GiveUp, 11)
	orDuration(&cfg.HoldEvery, 20*time.Second)
	orDuration(&cfg.Retry, 200*time.Millisecond)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Observe == nil {
		cfg.Observe = silent{}
	}
	b := &Bridge{cfg: cfg, log: cfg.Logger.With("bridge", cfg.Name, "broker", cfg.Broker), allowed: map[string]bool{}, tenants: map[string]cachedTenant{}, stop: make(chan struct{}), limit: rate.NewLimiter(rate.Inf, cfg.MaxBatch)}
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

// Start begins to consume. It does not wait for the broker.
func (b *Bridge) Start() {
	b.ended.Go(b.supervise)
}

// Stop drains: the batch at hand is finished and acknowledged until ctx ends, then it is given back to the broker.
func (b *Bridge) Stop(ctx context.Context) error {
	b.quit.Do(func() { close(b.stop) })
	done := make(chan struct{})
	go func() { b.ended.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("bridge %s: still at work when the time to stop was over: %w", b.cfg.Name, ctx.Err())
	}
}

// Lag is how many messages wait at the broker; ok = false when there is no incarnation that could tell.
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

// supervise runs one incarnation after the other. A broken one is followed by a fresh one after a jittered, growing
// pause; one that had worked starts the pauses anew.
func (b *Bridge) supervise() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ended.Go(func() { <-b.stop; cancel() })
	for fails := 0; !b.stopping(); {
		worked, err := b.incarnation(ctx)
		if b.stopping() {
			return
		}
		if worked {
			fails = 0
		}
		fails++
		wait := backoff(b.cfg.Retry, fails)
		b.log.Warn("incarnation over, opening another", "error", fmt.Sprint(err), "in", wait)
		b.pause(wait)
	}
}

// incarnation opens a source and works until it breaks. worked: at least one fetch went well.
func (b *Bridge) incarnation(ctx context.Context) (worked bool, err error) {
	source, err := b.cfg.Open(ctx)
	if err != nil {
		return false, err
	}
	b.cfg.Observe.Opened(b.cfg.Name)
	b.setCurrent(source)
	defer func() {
		b.setCurrent(nil)
		end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, source.Close(end))
	}()
	for !b.stopping() {
		msgs, err := source.Fetch(ctx, b.cfg.MaxBatch)
		if err != nil {
			return worked, err
		}
		worked = true
		if len(msgs) > 0 {
			if err := b.work(ctx, msgs); err != nil {
				return worked, err
			}
		}
	}
	return worked, nil
}

func (b *Bridge) setCurrent(s Source) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = s
}

func (b *Bridge) stopping() bool {
	select {
	case <-b.stop:
		return true
	default:
		return false
	}
}

// pause waits, or less when the bridge stops. It says whether the bridge goes on.
func (b *Bridge) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-b.stop:
		return false
	}
}

// backoff doubles from first to 30 times of it, ± 50 %.
func backoff(first time.Duration, n int) time.Duration {
	d := min(first<<min(n-1, 10), 30*first)
	return d/2 + rand.N(d)
}
