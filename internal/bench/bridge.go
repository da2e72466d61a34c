package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// BridgeConfig configures Bridge, which measures the same events given to the door in groups and delivered to it by a
// bridge. Of AcceptConfig, URL and Migrate are required.
type BridgeConfig struct {
	AcceptConfig
	Events int // of one measurement; default 10,000
	Group  int // items per group at the door; default 128, that of a bridge
	// Door opens the door in a schema; Feed opens a broker whose bridge uses such a door.
	Door func(ctx context.Context, schema string, tenant refund.Tenant) (GroupTarget, error)
	Feed func(ctx context.Context, schema string, tenant refund.Tenant) (Feed, error)
}

// GroupTarget accepts whole groups.
type GroupTarget struct {
	// Accept returns nil when all of them are durable.
	Accept func(ctx context.Context, g []intake.Intake) error
	Close  func()
}

// Feed is a broker with a bridge that does not run yet.
type Feed struct {
	// Publish publishes CloudEvents to the broker.
	Publish func(ctx context.Context, events [][]byte) error
	// Drain runs the bridge until the broker has no more messages.
	Drain func(ctx context.Context) error
	Close func()
}

// BridgeRound is one round: events per second.
type BridgeRound struct {
	Door   float64 `json:"doorPerSecond"`
	Bridge float64 `json:"bridgePerSecond"`
	Ratio  float64 `json:"ratio"`
}

// BridgeReport is the result of Bridge.
type BridgeReport struct {
	Server string        `json:"server"`
	Fsync  string        `json:"fsync"`
	Events int           `json:"events"`
	Group  int           `json:"group"`
	Median BridgeRound   `json:"median"` // of each field separately
	Rounds []BridgeRound `json:"rounds"`
}

// Bridge measures both ways in turns, whose order is reversed each round. It drops its schemas.
func Bridge(ctx context.Context, cfg BridgeConfig) (BridgeReport, error) {
	if cfg.Door == nil || cfg.Feed == nil {
		return BridgeReport{}, errors.New("bench: Door and Feed are required")
	}
	if cfg.Events <= 0 {
		cfg.Events = 10_000
	}
	if cfg.Group <= 0 {
		cfg.Group = 128
	}
	cfg.Variants = []Variant{{Name: "door"}, {Name: "bridge"}} // opened below
	var err error
	if cfg.AcceptConfig, err = cfg.complete(); err != nil {
		return BridgeReport{}, err
	}
	b := &run{cfg: cfg.AcceptConfig}
	report := BridgeReport{Events: cfg.Events, Group: cfg.Group}
	if report.Server, err = b.psql(ctx, `SHOW server_version`); err != nil {
		return report, err
	}
	if report.Fsync, err = b.psql(ctx, `SHOW fsync`); err != nil {
		return report, err
	}
	for i := range cfg.Rounds {
		var round BridgeRound
		ways := []func() error{
			func() (err error) { round.Door, err = b.doorGroups(ctx, cfg); return err },
			func() (err error) { round.Bridge, err = b.fed(ctx, cfg); return err },
		}
		if i%2 == 1 {
			slices.Reverse(ways)
		}
		for _, way := range ways {
			if err := way(); err != nil {
				return report, fmt.Errorf("bench: %w", err)
			}
		}
		round.Ratio = round.Bridge / round.Door
		report.Rounds = append(report.Rounds, round)
		_, _ = fmt.Fprintf(cfg.Progress, "round %d of %d: door %8.0f events/s, bridge %8.0f events/s, ratio %.2f\n", i+1, cfg.Rounds, round.Door,
			round.Bridge, round.Ratio)
	}
	report.Median = BridgeRound{Door: middle(report.Rounds, func(r BridgeRound) float64 { return r.Door }),
		Bridge: middle(report.Rounds, func(r BridgeRound) float64 { return r.Bridge }), Ratio: middle(report.Rounds, func(r BridgeRound) float64 { return r.Ratio })}
	return report, nil
}

func middle[T any](rounds []T, field func(T) float64) float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = field(r)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// inSchema runs one measurement in a new schema.
func (b *run) inSchema(ctx context.Context, do func(schema string, tenant refund.Tenant) (time.Duration, error)) (took time.Duration, err error) {
	schema, tenant, err := b.prepare(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		if dropErr := b.drop(context.WithoutCancel(ctx), schema); err == nil {
			err = dropErr
		}
	}()
	return do(schema, tenant)
}

func (b *run) doorGroups(ctx context.Context, cfg BridgeConfig) (perSecond float64, err error) {
	took, err := b.inSchema(ctx, func(schema string, tenant refund.Tenant) (time.Duration, error) {
		target, err := cfg.Door(ctx, schema, tenant)
		if err != nil {
			return 0, err
		}
		defer target.Close()
		groups := make([][]intake.Intake, 0, cfg.Events/cfg.Group+1)
		for n := 0; n < cfg.Events; n += cfg.Group {
			var g []intake.Intake
			for i := n; i < min(n+cfg.Group, cfg.Events); i++ {
				in := b.intake(tenant, 0, i, i%cfg.Payments)
				in.Event.Consumer, in.Event.Source = "bench", "/bench"
				in.Park = &intake.Park{Position: fmt.Sprintf("bench/%d", i), Body: []byte("{}")}
				g = append(g, in)
			}
			groups = append(groups, g)
		}
		if err := b.checkpoint(ctx); err != nil {
			return 0, err
		}
		begin := time.Now()
		for _, g := range groups {
			if err := target.Accept(ctx, g); err != nil {
				return 0, err
			}
		}
		return time.Since(begin), nil
	})
	return float64(cfg.Events) / took.Seconds(), err
}

func (b *run) fed(ctx context.Context, cfg BridgeConfig) (perSecond float64, err error) {
	took, err := b.inSchema(ctx, func(schema string, tenant refund.Tenant) (time.Duration, error) {
		feed, err := cfg.Feed(ctx, schema, tenant)
		if err != nil {
			return 0, err
		}
		defer feed.Close()
		events := make([][]byte, cfg.Events)
		for i := range events {
			if events[i], err = cloudEvent(b.intake(tenant, 0, i, i%cfg.Payments)); err != nil {
				return 0, err
			}
		}
		if err := feed.Publish(ctx, events); err != nil {
			return 0, err
		}
		if err := b.checkpoint(ctx); err != nil {
			return 0, err
		}
		begin := time.Now()
		err = feed.Drain(ctx)
		return time.Since(begin), err
	})
	return float64(cfg.Events) / took.Seconds(), err
}

// cloudEvent returns an intake as its producer would send it.
func cloudEvent(in intake.Intake) ([]byte, error) {
	p := in.Refund.Params
	return json.Marshal(map[string]any{"specversion": "1.0", "id": in.Event.ID, "source": "/bench", "type": string(in.Type), "tenantid": in.Tenant.Code,
		"data": map[string]any{"refundId": p.RefundID, "orderId": p.OrderID, "paymentId": p.PaymentID, "amount": p.Amount, "currency": p.Currency}})
}

// Print writes the medians.
func (r BridgeReport) Print(w io.Writer) {
	_, _ = fmt.Fprintf(w, "PostgreSQL %s, fsync %s, %d events in groups of %d, medians of %d rounds\n%10s %12s %8s\n%10.0f %12.0f %8.2f\n", r.Server,
		r.Fsync, r.Events, r.Group, len(r.Rounds),
		"door/s", "bridge/s", "ratio", r.Median.Door, r.Median.Bridge, r.Median.Ratio)
}
