package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// openBridges creates the configured bridges. They connect when they start.
func (a *app) openBridges() error {
	if !a.cfg.bridge {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(a.cfg.file.Bridges)) {
		c := a.cfg.file.Bridges[name]
		open, err := a.openBroker(name, c)
		if err != nil {
			return config.At("bridges."+name, err)
		}
		b, err := bridge.New(bridge.Config{Name: name, Broker: c.Broker, Open: open, Door: a.door,
			ParkedMessages: a.store, Deliveries: a.store, Tenants: a.store,
			Allowed:  c.Tenants,
			MaxBatch: c.Batch, Rate: c.Rate, Undated: c.Undated == config.UndatedAllow, Logger: a.log, Observe: a.metrics.Bridges()})
		if err != nil {
			return err
		}
		a.bridges = append(a.bridges, b)
	}
	return nil
}

func (a *app) openBroker(name string, c config.Bridge) (bridge.Opener, error) {
	kind, known := brokerKind(c.Broker)
	if !known {
		return nil, fmt.Errorf("there is no broker %q", c.Broker)
	}
	settings, err := kind.DecodeSettings(c.Settings.Node())
	if err != nil {
		return nil, err
	}
	return kind.Open(settings, bridge.Deps{Consumer: name, Logger: a.log.With("bridge", name)})
}

// ofBridge reports whether a consumer is a bridge of this process.
func (a *app) ofBridge(consumer string) bool {
	_, is := a.cfg.file.Bridges[consumer]
	return is && a.cfg.bridge
}

// measureLag sets the gauge of the messages that wait at each broker.
func (a *app) measureLag(ctx context.Context) {
	for _, b := range a.bridges {
		n, known := b.Lag(ctx)
		a.metrics.Bridges().Lag(b.Name(), n, known)
	}
}

// parkedMessages is what the API needs of parked messages: the store keeps them, the redriver tries them again.
type parkedMessages struct {
	storeAndReader
	bridge.Redriver
}

// Discard settles a parked message and returns it as it stands afterwards. Errors: refund.ErrNotFound, refund.ErrUnavailable.
func (p parkedMessages) Discard(ctx context.Context, tenant refund.TenantID, id refund.RID, by string) (intake.ParkedView, error) {
	if err := p.storeAndReader.Discard(ctx, tenant, id, by); err != nil {
		return intake.ParkedView{}, err
	}
	return p.ParkedMessage(ctx, tenant, id)
}
