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
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// Door takes whole groups. One result per intake, in order.
type Door interface {
	AcceptEach(ctx context.Context, g []intake.Intake) ([]intake.Result, error)
}

// DeadLetters keeps what the door cannot take, and the trace of deliveries.
type DeadLetters interface {
	// ParkUndecodable keeps a message in a transaction of its own; the same place again counts up.
	ParkUndecodable(ctx context.Context, tenant refund.TenantID, ev intake.EventID, reason string, p intake.Park) error
	// ParkBeforeRetry is ParkPoison before a try that may kill the process. It tells the row, which the try settles, and how often
	// the place has been parked by now.
	ParkBeforeRetry(ctx context.Context, tenant refund.TenantID, ev intake.EventID, reason string, p intake.Park) (id refund.RID, tries int, err error)
	// Trace notes deliveries. Losing a row loses trace, never a refund.
	Trace(ctx context.Context, d []intake.Delivery) error
}

// Tenants finds the tenants that a bridge may speak for.
type Tenants interface {
	// BridgeTenant gives a tenant by code. refund.ErrNotFound, refund.ErrUnavailable.
	BridgeTenant(ctx context.Context, code string) (refund.Tenant, error)
}

// Config of a Bridge. The first block is needed.
type Config struct {
	Name        string // the consumer's name: part of every event's identity, never to be changed
	Broker      string // for logs and transports: nats, …
	Open        Opener
	Door        Door
	DeadLetters DeadLetters
	Tenants     Tenants
	Allowed     []string // codes of the tenants that it may speak for

	MaxBatch  int           // messages of a group; default 128. Three groups are in memory at most
	MaxBody   int           // bytes of a body that is read; a longer one is parked as it is; default 1 MiB
	HoldEvery time.Duration // how often everything that we hold is renewed at the broker; default 20 s
	Rate      float64       // messages a second; 0 = no limit
	Undated   bool          // events that neither they nor the broker give a time are taken; default: parked
	Retry     time.Duration // first pause when the database is away, doubling to 30 times of it; default 200 ms
	Patience  time.Duration // of one transaction, and of the acknowledgements of a group; default 30 s
	Alone     int           // tries from which a message is tried alone; default 6
	GiveUp    int           // tries from which a message that failed again is parked; default 11
	Logger    *slog.Logger
	Clock     func() time.Time
	// Observe is told what the bridge does, for metrics; nil = nobody.
	Observe Observer
}

// Observer counts what a bridge does. Its methods may be called from several goroutines.
type Observer interface {
	// Delivered: one delivery whose fate is durable. cause is that of a replay, else "".
	Delivered(consumer, outcome, cause string)
	// Parked: a message came to the parking lot.
	Parked(consumer, reason string)
	// Opened: an incarnation began.
	Opened(consumer string)
	// AckFailed: the broker did not take an acknowledgement; it will deliver again.
	AckFailed(consumer string)
}

type noObserver struct{}

func (noObserver) Delivered(string, string, string) {}
func (noObserver) Parked(string, string)            {}
func (noObserver) Opened(string)                    {}
func (noObserver) AckFailed(string)                 {}

// Bridge feeds the door from one subscription: fetch, decode, accept as one group, acknowledge after a known COMMIT.
// When the database is away it holds what it has and fetches nothing more. Start once, Stop once.
type Bridge struct {
	cfg     Config
	log     *slog.Logger
	allowed map[string]bool
	limit   *rate.Limiter
	tenants map[string]cachedTenant // used by the one working goroutine

	accepting     context.Context // ends with Stop: no new work
	stopAccepting context.CancelFunc
	running       context.Context // ends when Stop's time is over: what is under way is cut off
	stopRunning   context.CancelFunc
	ended         sync.WaitGroup

	mu      sync.Mutex
	current Source
}

// New checks the configuration; nothing runs before Start.
func New(cfg Config) (*Bridge, error) {
	if cfg.Name == "" || cfg.Open == nil || cfg.Door == nil || cfg.DeadLetters == nil || cfg.Tenants == nil || len(cfg.Allowed) == 0 {
		return nil, errors.New("bridge: name, source, door, lot, tenants and at least one allowed tenant are needed")
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
	b := &Bridge{cfg: cfg, log: cfg.Logger.With("bridge", cfg.Name, "broker", cfg.Broker), allowed: map[string]bool{}, tenants: map[string]cachedTenant{}, limit: rate.NewLimiter(rate.Inf, cfg.MaxBatch)}
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

// Start begins to consume. It does not wait for the broker and never fails: a broker that is away is tried again until Stop.
func (b *Bridge) Start(context.Context) error {
	b.ended.Go(b.supervise)
	return nil
}

// Stop drains: what has been fetched is finished and acknowledged until ctx ends, then it is cut off and given back to the
// broker. It returns when nothing of the bridge runs any more.
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
	return fmt.Errorf("bridge %s: still at work when the time to stop was over: %w", b.cfg.Name, ctx.Err())
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
	for fails := 0; b.accepting.Err() == nil; {
		worked, err := b.incarnation()
		if b.accepting.Err() != nil {
			return
		}
		if worked {
			fails = 0
		}
		fails++
		wait := b.backoff(fails)
		b.log.Warn("incarnation over, opening another", "error", fmt.Sprint(err), "in", wait)
		_ = clock.Pause(b.accepting, wait) // the loop ends with the context
	}
}

// closeTime bounds the farewell to a broker.
const closeTime = 5 * time.Second

// incarnation opens a source and works until it breaks. worked: it was not broken from the start.
func (b *Bridge) incarnation() (worked bool, err error) {
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

// backoff returns the pause after so many failures in a row: it doubles from Retry to 30 times of it, ± 50 %.
func (b *Bridge) backoff(failures int) time.Duration {
	return clock.Backoff{First: b.cfg.Retry, Longest: 30 * b.cfg.Retry, Share: 0.5}.After(failures)
}
