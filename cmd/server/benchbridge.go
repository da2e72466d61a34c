package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	natsclient "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/bench"
	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/bridge/nats"
	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/devnats"
	"github.com/refundry/refundry/internal/jobs"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/pg"
)

func benchBridgeCommand() *cobra.Command {
	var f benchFlags
	var events int
	cmd := &cobra.Command{Use: "bridge", Short: "Measure events accepted per second through NATS, relative to direct calls with the same groups",
		Args:    cobra.NoArgs,
		Example: "  refundry bench bridge\n  refundry bench bridge --events 20000 --rounds 5 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, func(ctx context.Context, cfg bench.AcceptConfig, p *benchPlace) (report, error) {
				return bench.Bridge(ctx, bench.BridgeConfig{AcceptConfig: cfg, Events: events, Door: p.openGroups, Feed: p.openFeed})
			})
		}}
	f.bindBench(cmd)
	cmd.Flags().IntVar(&events, "events", 10_000, "events of one measurement")
	return cmd
}

// openBench opens a store and a door with the configuration of serve.
func (p *benchPlace) openBench(ctx context.Context, schema string, tenant refund.Tenant) (*store.Store, *intake.Door, error) {
	enqueuer, err := jobs.NewEnqueuer(schema)
	if err != nil {
		return nil, nil, err
	}
	book := &accountBook{}
	contract, _ := plain.Kind.Contract(plain.KeyedQueryable)
	book.set(map[string]store.SyncedAccount{demoTenant: {Contract: contract, Tenants: map[refund.TenantID]bool{tenant.ID: true}}})
	s, err := store.Open(ctx, store.Config{URL: p.url, Schema: schema, Enqueuer: enqueuer, Accounts: book})
	if err != nil {
		return nil, nil, err
	}
	return s, intake.NewDoor(intake.DoorConfig{Accepter: s, NewRID: pg.NewRID}), nil //nolint:contextcheck // the door's transactions do not end with their caller
}

// openGroups opens a target that calls the door with whole groups.
func (p *benchPlace) openGroups(ctx context.Context, schema string, tenant refund.Tenant) (bench.GroupTarget, error) {
	s, door, err := p.openBench(ctx, schema, tenant)
	if err != nil {
		return bench.GroupTarget{}, err
	}
	return bench.GroupTarget{
		Accept: func(ctx context.Context, g []intake.Intake) error {
			out, err := door.Accept(ctx, g)
			for _, o := range out {
				if o.Verdict != intake.Taken {
					return fmt.Errorf("the verdict is %s %s, want TAKEN", o.Verdict, o.Code)
				}
			}
			return err
		},
		Close: func() { door.Stop(); s.Close() },
	}, nil
}

// benchFeed is a NATS server with a bridge. It observes the bridge and counts its deliveries.
type benchFeed struct {
	server   *devnats.Server
	store    *store.Store
	door     *intake.Door
	conn     *natsclient.Conn
	cfg      bridge.Config
	accepted atomic.Int64
	others   atomic.Int64
	sent     int64
}

func (p *benchPlace) openFeed(ctx context.Context, schema string, tenant refund.Tenant) (out bench.Feed, err error) {
	f := &benchFeed{}
	if f.server, err = devnats.Start(devnats.Config{Dir: filepath.Join(p.dir, schema), Listen: "127.0.0.1:0"}); err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.store, f.door, err = p.openBench(ctx, schema, tenant); err != nil {
		return out, err
	}
	if f.conn, err = natsclient.Connect(f.server.URL()); err != nil {
		return out, err
	}
	open, err := nats.Opener(nats.Config{URL: f.server.URL(), Stream: demoStream, Durable: "refundry-bench", Subjects: []string{demoSubjects}})
	if err != nil {
		return out, err
	}
	f.cfg = bridge.Config{Name: "bench", Broker: "nats", Open: open, Door: f.door,
		ParkedMessages: f.store, Deliveries: f.store, Tenants: f.store,
		Allowed: []string{tenant.Code}, Observe: f}
	return bench.Feed{Publish: f.publish, Drain: f.drain, Close: f.close}, nil
}

func (f *benchFeed) publish(ctx context.Context, events [][]byte) error {
	js, err := jetstream.New(f.conn, jetstream.WithPublishAsyncMaxPending(1000))
	if err != nil {
		return err
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: demoStream, Subjects: []string{demoSubjects}}); err != nil {
		return err
	}
	for _, e := range events {
		if _, err := js.PublishAsync(demoSubject, e, jetstream.WithStallWait(time.Minute)); err != nil {
			return err
		}
	}
	f.sent = int64(len(events))
	select {
	case <-js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain runs the bridge until everything is accepted and acknowledged.
func (f *benchFeed) drain(ctx context.Context) error {
	b, err := bridge.New(f.cfg)
	if err != nil {
		return err
	}
	if err := b.Start(ctx); err != nil {
		return err
	}
	for done := false; !done && err == nil; {
		err = clock.Pause(ctx, 5*time.Millisecond)
		if err == nil && f.accepted.Load()+f.others.Load() >= f.sent {
			left, known := b.Lag(ctx)
			done = known && left == 0
		}
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err = errors.Join(err, b.Stop(stop))
	if n := f.others.Load(); n > 0 && err == nil {
		err = fmt.Errorf("%d events were not accepted", n)
	}
	return err
}

func (f *benchFeed) close() {
	if f.conn != nil {
		f.conn.Close()
	}
	if f.door != nil {
		f.door.Stop()
		f.store.Close()
	}
	f.server.Stop()
}

func (f *benchFeed) Delivered(_, outcome, _ string) {
	if outcome == string(intake.Taken) {
		f.accepted.Add(1)
	} else {
		f.others.Add(1)
	}
}
func (f *benchFeed) Parked(string, string) {}
func (f *benchFeed) Opened(string)         {}
func (f *benchFeed) AckFailed(string)      {}
