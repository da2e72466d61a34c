package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/refundry/refundry/internal/refund"
)

const defaultSchema = "refundry"

// rescueAfter is how long after its time limit River considers a job lost.
const rescueAfter = 45 * time.Second

// Store is the database of the workflow.
type Store interface {
	refund.Store
	// Ask stores the attempt of a query that needs no owner.
	Ask(ctx context.Context, c refund.Claim) (refund.Claimed, error)
	// EnterLines enters the lines of a payment's list that have other numbers or none.
	EnterLines(ctx context.Context, tenant refund.TenantID, paymentID, source string, lines []refund.ListedEffect, complete bool, c refund.Contract) error
	// SettleLines decides a payment's held lines again.
	SettleLines(ctx context.Context, tenant refund.TenantID, paymentID string) error
}

// Waker retries the messages that wait for a payment.
type Waker interface {
	WakePayment(ctx context.Context, tenant refund.TenantID, paymentID string) error
}

// Maintainer maintains the whole installation, for example by creating the partitions of the coming days. It is idempotent.
type Maintainer interface {
	Maintain(ctx context.Context) error
}

// Observer counts calls and sweeps. Its methods must return at once.
type Observer interface {
	// Called reports one call to a channel: account, operation, kind of the answer, and how long it took.
	Called(account string, kind refund.AttemptKind, answer refund.FactKind, took time.Duration)
	// Swept reports what one pass of the sweeper did.
	Swept(s refund.Swept)
	// Kept reports how many answers are kept because the database does not take them.
	Kept(answers int)
	// Lost reports an answer that will not be stored.
	Lost()
	// CredentialsDenied reports that the channel begins or ceases to refuse an account's credentials.
	CredentialsDenied(account string, denied bool)
}

// Times are the time limits of ownership and calls.
type Times struct {
	Lease       time.Duration // ownership of one call; default 10 s
	Margin      time.Duration // no first byte is sent so shortly before the lease's end; default 2 s
	SendWindow  time.Duration // longest time from the claim to the first byte; default 3 s
	ClockMargin time.Duration // a key is not used so shortly before it expires; default refund.ClockMargin
	Call        time.Duration // longest time to an answer, also past the lease; default 30 s
	Enter       time.Duration // longest time of a job to store an answer, which is kept after it; default 30 s
}

// WithDefaults returns the times with the default for every one that is zero.
func (t Times) WithDefaults() Times {
	for _, d := range []struct {
		v *time.Duration
		d time.Duration
	}{{&t.Lease, 10 * time.Second}, {&t.Margin, 2 * time.Second}, {&t.SendWindow, 3 * time.Second}, {&t.ClockMargin, refund.ClockMargin},
		{&t.Call, 30 * time.Second}, {&t.Enter, 30 * time.Second}} {
		if *d.v <= 0 {
			*d.v = d.d
		}
	}
	return t
}

// JobLimit is the time limit of a job: a call, the storing of its answer, and the margin for what comes before the call.
func (t Times) JobLimit() time.Duration { return t.Call + t.Enter + t.Margin }

// Faults returns what makes the times unusable, each with the path of its setting. Zero stands for the default.
func (t Times) Faults() []string {
	var out []string
	d := t.WithDefaults()
	if d.Margin >= d.Lease {
		out = append(out, ".lease: must be longer than times.margin, otherwise nothing can be sent")
	}
	if d.SendWindow >= d.Call+d.Enter {
		out = append(out, ".sendWindow: must be shorter than times.call and times.enter together, otherwise the time limit of a job cuts the call off")
	}
	if d.Lease > refund.LongestLease {
		out = append(out, fmt.Sprintf(".lease: at most %s", refund.LongestLease))
	}
	return out
}

// Config configures a Runner. Pool, Store and Channels are required.
type Config struct {
	Pool        *pgxpool.Pool // for River: Workers + 5 connections, besides the store's own
	Schema      string        // default "refundry"
	Store       Store
	Channels    refund.Channels
	Waker       Waker       // nil = payment_wake jobs fail and are repeated
	Maintain    Maintainer  // nil = no maintenance
	Observer    Observer    // nil = nothing is counted
	CallLimiter CallLimiter // nil = every call is admitted
	// Budget adds to the context how long after start the first byte can be sent. nil = it is checked before the call only.
	Budget func(ctx context.Context, start time.Time, send time.Duration) context.Context

	Times      Times
	Workers    int           // steps at the same time in this process; default 32
	SweepEvery time.Duration // default 1 s, ± 20 %
	SweepLimit int           // rows per pass; default 500

	Clock  func() time.Time // default time.Now; its readings must have a monotonic part
	Logger *slog.Logger     // default: no log
}

// Runner works the jobs and sweeps. It is started once and stopped once. Its methods are also in step.go, call.go, store.go,
// kept.go, alarms.go, gate.go, sweep.go and workers.go.
type Runner struct {
	cfg    Config
	log    *slog.Logger
	client *river.Client[pgx.Tx]
	checks chan struct{} // limits the checks of people
	kept   *keptAnswers
	alarms accountAlarms

	mu      sync.Mutex
	stopped bool
	cancel  context.CancelFunc // ends the sweeper and the storing of kept answers
	busy    sync.WaitGroup     // sweeper, kept answers and checks
}

// New checks the configuration and returns a Runner. Nothing runs before Start.
func New(cfg Config) (*Runner, error) {
	if cfg.Pool == nil || cfg.Store == nil || cfg.Channels == nil {
		return nil, errors.New("jobs: Pool, Store and Channels are required")
	}
	if cfg.Schema == "" {
		cfg.Schema = defaultSchema
	}
	if cfg.Workers <= 0 {
		cfg.Workers = 32
	}
	if cfg.SweepEvery <= 0 {
		cfg.SweepEvery = time.Second
	}
	if cfg.SweepLimit <= 0 {
		cfg.SweepLimit = 500
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Budget == nil {
		cfg.Budget = func(ctx context.Context, _ time.Time, _ time.Duration) context.Context { return ctx }
	}
	cfg.Times = cfg.Times.WithDefaults()
	if faults := cfg.Times.Faults(); len(faults) > 0 {
		return nil, fmt.Errorf("jobs: times%s", faults[0])
	}
	r := &Runner{cfg: cfg, log: cfg.Logger, checks: make(chan struct{}, cfg.Workers), kept: newKeptAnswers()}
	client, err := river.NewClient(riverpgxv5.New(cfg.Pool), r.riverConfig())
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	r.client = client
	return r, nil
}

// riverConfig returns River's configuration. Correctness does not depend on River's leader, scheduler or rescuer.
func (r *Runner) riverConfig() *river.Config {
	workers := river.NewWorkers()
	river.AddWorker(workers, &stepWorker{r: r})
	river.AddWorker(workers, &wakeWorker{r: r})
	river.AddWorker(workers, &maintenanceWorker{r: r})
	c := &river.Config{
		Schema:                      r.cfg.Schema,
		Workers:                     workers,
		Queues:                      map[string]river.QueueConfig{queueRefunds: {MaxWorkers: r.cfg.Workers}, river.QueueDefault: {MaxWorkers: 4}},
		FetchCooldown:               cooldown,
		FetchPollInterval:           500 * time.Millisecond,
		JobTimeout:                  r.cfg.Times.JobLimit(),
		RescueStuckJobsAfter:        r.cfg.Times.JobLimit() + rescueAfter,
		MaxAttempts:                 maxAttempts,
		CompletedJobRetentionPeriod: time.Hour,
		RetryPolicy:                 retryPolicy{},
		Logger:                      r.log,
	}
	if r.cfg.Maintain != nil {
		c.PeriodicJobs = []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(time.Hour),
			func() (river.JobArgs, *river.InsertOpts) { return maintenanceArgs{}, nil }, &river.PeriodicJobOpts{RunOnStart: true})}
	}
	return c
}

// Start starts the workers and the sweeper. ctx bounds the start only.
func (r *Runner) Start(ctx context.Context) error {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if err := r.client.Start(context.WithoutCancel(ctx)); err != nil {
		cancel()
		return fmt.Errorf("jobs: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = cancel
	r.busy.Go(func() { r.sweepLoop(run) })
	r.busy.Go(func() { r.storeKept(run) })
	return nil
}

// Stop starts no new job, waits for the calls under way, and enters their answers and the kept ones. When ctx ends first, the
// calls are cut off, and another process takes over after their leases; kept answers are in the log. A second Stop does nothing.
func (r *Runner) Stop(ctx context.Context) error {
	r.mu.Lock()
	again := r.stopped || r.cancel == nil
	r.stopped = true
	if r.cancel != nil {
		r.cancel()
	}
	r.mu.Unlock()
	if again {
		return nil
	}
	err := r.client.Stop(ctx)
	if err != nil {
		hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, r.client.StopAndCancel(hard))
	}
	r.busy.Wait()
	r.emptyKept(ctx)
	r.giveUpKept(ctx)
	return err
}
