package main

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/config"
	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/jobs"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/read"
	"github.com/refundry/refundry/internal/telemetry"
)

// appConfig has the settings of a process.
type appConfig struct {
	databaseURL, schema string
	directURL           string    // for sessions that must not go through a pooler; "" = databaseURL
	params              pg.Params // of the store's connections; "" = pg.ParamsStartup
	listen              string
	file                config.File
	api, worker, bridge bool
	workers             int
	drainDelay          time.Duration // of the API, see httpapi.ServerConfig
	guard               guardConfig
	log                 *slog.Logger
}

func (c appConfig) direct() string { return cmp.Or(c.directURL, c.databaseURL) }

// app is one running process. newApp creates its parts in this order, because each needs some before it: enqueuer, store, reader, epoch check
// with anchors and continuous check, channels, door, runner, bridges, API. Only its methods connect them; they are also in serve.go
// (run), channels.go, bridges.go, observe.go and verify_guard.go.
type app struct {
	cfg       appConfig
	log       *slog.Logger
	metrics   *telemetry.Metrics
	store     *store.Store  // writes
	reader    *read.Reader  // reads, on the store's pool
	riverPool *pgxpool.Pool // of River, in the runner; the store has a pool of its own
	door      *intake.Door
	runner    *jobs.Runner
	api       *httpapi.API
	server    *httpapi.Server
	bridges   []*bridge.Bridge
	guard     guard

	services services
	closers  []func() // close what newApp opened, called in reverse order
}

// newApp opens and connects everything. Before start only the Door runs, and nothing submits to it. After an error the parts that were opened
// are closed again.
func newApp(ctx context.Context, cfg appConfig) (a *app, err error) {
	a = &app{cfg: cfg, log: cfg.log, metrics: telemetry.New()}
	a.metrics.SetBuild(thisBuild().Version, thisBuild().Commit, thisBuild().Go)
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	enqueuer, err := jobs.NewEnqueuer(cfg.schema)
	if err != nil {
		return a, err
	}
	accounts := &accountBook{}
	a.store, err = store.Open(ctx, store.Config{URL: cfg.databaseURL, Schema: cfg.schema, Params: cfg.params, Enqueuer: enqueuer,
		Accounts: accounts, Logger: cfg.log, RefundEnded: a.metrics.Ended, CommitUnknown: a.metrics.CommitUnknown,
		FactRefused: a.metrics.FactRefused, HoldOnRestore: true, HoldOnFailover: !cfg.guard.lossless})
	if err != nil {
		return a, err
	}
	a.opened(a.store.Close)
	a.reader = read.New(a.store.Pool(), accounts)
	if err := migrate.Check(ctx, a.store.Pool(), cfg.schema); err != nil {
		return a, err
	}
	if err := a.openGuard(ctx); err != nil {
		return a, err
	}
	registry, err := a.openChannels(ctx, accounts)
	if err != nil {
		return a, err
	}
	door := intake.DoorConfig{Accepter: a.store, NewRID: pg.NewRID, Logger: cfg.log, Observe: a.observe}
	a.door = intake.NewDoor(door) //nolint:contextcheck // it runs until Stop
	a.opened(a.door.Stop)         // the services stop it too; a second Stop does nothing
	if err := a.openRunner(ctx, registry); err != nil {
		return a, err
	}
	if err := a.openBridges(); err != nil {
		return a, err
	}
	if err := a.openAPI(registry); err != nil {
		return a, err
	}
	a.groupServices()
	return a, nil
}

func (a *app) openRunner(ctx context.Context, channels *channel.Registry) (err error) {
	if a.riverPool, err = pg.OpenPool(ctx, a.cfg.direct(), a.cfg.schema, int32(a.cfg.workers+8)); err != nil { // #nosec G115 -- a checked small number
		return err
	}
	a.opened(a.riverPool.Close)
	a.runner, err = jobs.New(jobs.Config{Pool: a.riverPool, Schema: a.cfg.schema, Store: a.store, Channels: channels,
		Waker:    bridge.Waker{ParkedMessages: a.store, Door: a.door, Log: a.log},
		Maintain: housekeeping{a.store, a.cfg.schema, channels.Notifier, cmp.Or(a.cfg.file.Notices.EndUnmatchedAfter, endUnmatchedAfter), a.log}, Observer: a.metrics.Workers(),
		CallLimiter: channel.NewCallLimiter(channels, channel.CallLimiterConfig{BreakerChanged: a.logBreaker}),
		Budget: func(ctx context.Context, start time.Time, send time.Duration) context.Context {
			return channel.WithBudget(ctx, channel.Budget{Start: start, Send: send})
		},
		Times:   jobTimes(a.cfg.file.Times),
		Workers: a.cfg.workers, SweepEvery: a.cfg.file.Times.Sweep, Logger: a.log})
	return err
}

// logBreaker logs that the circuit breaker of an account opens or closes.
func (a *app) logBreaker(account string, open bool) {
	a.log.Warn("breaker", "account", account, "open", open)
}

// storeAndReader is the database for a part that needs writes and reads.
type storeAndReader struct {
	*store.Store
	*read.Reader
}

// notices reads a notice with the account's client and stores it.
type notices struct {
	*channel.Registry
	*store.Store
}

func (a *app) openAPI(channels *channel.Registry) (err error) {
	if !a.cfg.api {
		return nil
	}
	rows := storeAndReader{a.store, a.reader}
	a.api, err = httpapi.New(httpapi.Config{Door: a.door, Refunds: a.reader, Actions: actions{rows, a.runner, a.log}, Payments: rows,
		Keys: a.store, Cases: cases{rows}, Events: bridge.Codec{}, Parking: a.store, Messages: a.reader,
		Parked:     parkedMessages{rows, bridge.Redriver{ParkedMessages: rows, Door: a.door, NewRID: pg.NewRID, Log: a.log}},
		Notices:    notices{channels, a.store},
		NoticeSeen: a.metrics.Notice,
		Metrics:    a.metrics.Handler(), Build: thisBuild(), Log: a.log,
		Ready: []httpapi.ReadyCheck{
			{Name: "database", Check: a.store.Ping},
			{Name: "database-writes", Check: a.store.CheckWritable},
			{Name: "migrations", Check: func(ctx context.Context) error { return migrate.Check(ctx, a.store.Pool(), a.cfg.schema) }},
		}})
	if err != nil {
		return err
	}
	a.server, err = httpapi.NewServer(httpapi.ServerConfig{Listen: a.cfg.listen, Handler: http.Handler(a.api), API: a.api, DrainDelay: a.cfg.drainDelay, Log: a.log})
	return err
}

// groupServices puts the services into groups: the door, the watchers, and those that bring work. The groups start in this order and stop in
// the reverse order. The API listens before the workers claim anything, so that a process whose address is taken does no work. A watcher is
// a loop: it runs until its Stop cancels the context of its work, and Stop then waits for it.
func (a *app) groupServices() {
	a.services.group(member{"door", stopTime, stopOnly{a.door.Stop}})
	watchers := []member{{"backlog watcher", watcherStopTime, newLoop(a.watchBacklog)}, {"epoch watcher", watcherStopTime, newLoop(a.watchEpochs)}}
	if a.guard.anchorer != nil {
		watchers = append(watchers, member{"anchors", watcherStopTime, newLoop(a.guard.anchorer.Run)})
	}
	if a.guard.continuousCheck != nil {
		watchers = append(watchers, member{"continuous check", watcherStopTime, newLoop(a.runContinuousCheck)})
	}
	a.services.group(watchers...)
	var work []member
	if a.server != nil {
		work = append(work, member{"API", stopTime, a.server})
	}
	if a.cfg.worker {
		work = append(work, member{"workers", jobTimes(a.cfg.file.Times).WithDefaults().Call + answerTime, a.runner})
	}
	for _, b := range a.bridges {
		work = append(work, member{"bridge " + b.Name(), stopTime, b})
	}
	a.services.group(work...)
}

// start starts the services. After an error, stop ends those that run already.
func (a *app) start(ctx context.Context) error { return a.services.start(ctx) }

const (
	// stopTime bounds the stop of one service with work under way. Work that is cut off is taken over after its lease has ended.
	stopTime = 40 * time.Second
	// answerTime is what the stop of the workers has beyond the longest call, to store its answer.
	answerTime = 10 * time.Second
	// watcherStopTime bounds the stop of one watcher.
	watcherStopTime = 10 * time.Second
)

// stop drains: it accepts no new requests and messages, answers those under way, waits for the calls to channels, and enters their
// answers.
func (a *app) stop() error {
	err := a.services.stop()
	a.close()
	return err
}

// opened registers a function that closes something newApp has opened.
func (a *app) opened(end func()) { a.closers = append(a.closers, end) }

// close closes what newApp opened, in reverse order.
func (a *app) close() {
	for _, end := range slices.Backward(a.closers) {
		end()
	}
	a.closers = nil
}

// accountBook gives the store the accounts, which are synced after the store is open. Until set, no account is known.
type accountBook struct {
	accounts atomic.Pointer[map[string]store.SyncedAccount]
}

func (b *accountBook) set(m map[string]store.SyncedAccount) { b.accounts.Store(&m) }

// Account implements store.Accounts.
func (b *accountBook) Account(name string, t refund.TenantID) (refund.Contract, bool, bool) {
	m := b.accounts.Load()
	if m == nil {
		return refund.Contract{}, false, false
	}
	a, known := (*m)[name]
	return a.ContractOf(t), known, a.Tenants[t]
}
