package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/config"
	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/jobs"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/telemetry"
)

// appConfig is what a process is made of.
type appConfig struct {
	databaseURL, schema string
	directURL           string       // for sessions that must not go through a pooler; "" = databaseURL
	params              store.Params // of the hot path; "" = store.ParamsStartup
	listen              string
	file                config.File
	api, worker, bridge bool
	workers             int
	guard               guardConfig
	log                 *slog.Logger
}

func (c appConfig) direct() string { return cmp.Or(c.directURL, c.databaseURL) }

// app is one running process: enqueuer → store → door → channels → runner → API. This file is the only place that knows everybody.
type app struct {
	cfg     appConfig
	log     *slog.Logger
	metrics *telemetry.Metrics
	store   *store.Store
	pool    *pgxpool.Pool // River's
	door    *refund.Door
	runner  *jobs.Runner
	api     *httpapi.API
	server  *httpapi.Server
	bridges []*bridge.Bridge
	guard   guard

	started     bool // bridges run
	stopBacklog context.CancelFunc
	backlog     sync.WaitGroup
}

// newApp connects everything; nothing runs before start.
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
	a.store, err = store.Open(ctx, store.Config{URL: cfg.databaseURL, Schema: cfg.schema, Params: cfg.params, Enqueuer: enqueuer, Accounts: accounts, Logger: cfg.log,
		HoldOnFailover: !cfg.guard.lossless})
	if err != nil {
		return a, err
	}
	if err := store.CheckMigrated(ctx, a.store.Pool(), cfg.schema); err != nil {
		return a, err
	}
	if err := a.openGuard(ctx); err != nil {
		return a, err
	}
	registry, err := a.openChannels(ctx, accounts)
	if err != nil {
		return a, err
	}
	a.door = refund.NewDoor(refund.DoorConfig{Accepter: a.store, NewRID: store.NewRID, Logger: cfg.log, Observe: a.observe, CommitUnknown: a.metrics.CommitUnknown}) //nolint:contextcheck // lives until Stop, not as long as the start
	if err := a.openRunner(ctx, registry); err != nil {
		return a, err
	}
	if err := a.openBridges(); err != nil {
		return a, err
	}
	return a, a.openAPI(registry)
}

func (a *app) openRunner(ctx context.Context, channels *channel.Registry) (err error) {
	if a.pool, err = store.OpenPool(ctx, a.cfg.direct(), a.cfg.schema, int32(a.cfg.workers+8)); err != nil { // #nosec G115 -- a checked small number
		return err
	}
	a.runner, err = jobs.New(jobs.Config{Pool: a.pool, Schema: a.cfg.schema, Store: measuredStore{a.store, a.metrics}, Channels: channels,
		Waker: bridge.Waker{Lot: a.store, Door: a.door, Log: a.log}, Maintain: housekeeping{a.store, a.cfg.schema}, Observer: observer{a.metrics},
		CallLimiter: channel.NewCallLimiter(channels, channel.CallLimiterConfig{Turned: func(account string, open bool) { a.log.Warn("breaker", "account", account, "open", open) }}),
		Budget: func(ctx context.Context, start time.Time, send time.Duration) context.Context {
			return channel.WithBudget(ctx, channel.Budget{Start: start, Send: send})
		},
		Times:   jobTimes(a.cfg.file.Times),
		Workers: a.cfg.workers, SweepEvery: a.cfg.file.Times.Sweep, Logger: a.log})
	return err
}

// noticeDesk reads notices by the account's client and keeps them in the store.
type noticeDesk struct {
	*channel.Registry
	*store.Store
}

func (a *app) openAPI(channels *channel.Registry) (err error) {
	if !a.cfg.api {
		return nil
	}
	a.api, err = httpapi.New(httpapi.Config{Door: a.door, Refunds: a.store, Actions: actions{a.store, a.runner, a.log}, Payments: a.store, Keys: a.store, Cases: a.store,
		Events: bridge.Codec{}, Parking: a.store, Messages: a.store,
		Parked: parkingLot{a.store, bridge.Redriver{Lot: a.store, Door: a.door, NewRID: store.NewRID, Log: a.log}}, Notices: noticeDesk{channels, a.store}, NoticeSeen: a.metrics.Notice,
		Metrics: a.metrics.Handler(), Build: thisBuild(), Log: a.log,
		Ready: []httpapi.ReadyCheck{
			{Name: "database", Check: a.store.Ping},
			{Name: "migrations", Check: func(ctx context.Context) error { return store.CheckMigrated(ctx, a.store.Pool(), a.cfg.schema) }},
		}})
	if err != nil {
		return err
	}
	a.server, err = httpapi.NewServer(httpapi.ServerConfig{Listen: a.cfg.listen, Handler: http.Handler(a.api), API: a.api, Log: a.log})
	return err
}

// start begins to work and to listen.
func (a *app) start(ctx context.Context) error {
	if a.cfg.worker {
		if err := a.runner.Start(ctx); err != nil {
			return err
		}
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.stopBacklog = cancel
	a.backlog.Go(func() { a.watchBacklog(run) })
	a.runGuard(run)
	for _, b := range a.bridges {
		b.Start()
	}
	a.started = true
	if a.server == nil {
		return nil
	}
	return a.server.Start(ctx)
}

// stopTime bounds an orderly stop; what is cut off then ends by its lease.
const stopTime = 40 * time.Second

// stop drains: no new requests, those under way are answered, calls to channels end and their answers are entered.
func (a *app) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	var errs []error
	if a.server != nil && a.server.Addr() != nil {
		errs = append(errs, a.server.Stop(ctx))
	}
	if a.started {
		errs = append(errs, a.stopBridges(ctx))
	}
	if a.cfg.worker {
		errs = append(errs, a.runner.Stop(ctx))
	}
	if a.stopBacklog != nil {
		a.stopBacklog()
		a.backlog.Wait()
	}
	a.close()
	return errors.Join(errs...)
}

// close gives back what newApp opened.
func (a *app) close() {
	if a.door != nil {
		a.door.Stop()
	}
	a.closeGuard()
	if a.pool != nil {
		a.pool.Close()
	}
	if a.store != nil {
		a.store.Close()
	}
}

// accountBook tells the store about accounts, once they are known.
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
	return a.Contract, known, a.Tenants[t]
}
