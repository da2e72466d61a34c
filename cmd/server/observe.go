package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/jobs"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/telemetry"
)

// observe counts a verdict of the door and measures how long it took.
func (a *app) observe(in intake.Intake, o intake.Outcome, took time.Duration) {
	conflict := ""
	if o.Verdict == intake.Conflict {
		conflict = string(o.Code)
	}
	cause := o.Cause
	if a.ofBridge(in.Event.Consumer) {
		cause = "" // the bridge counts it, with the broker's count of deliveries
	}
	a.metrics.Intake(in.Event.Consumer, string(o.Verdict), cause, conflict)
	a.metrics.Accepted(took)
}

// actions are what a caller can do to a refund besides reading it.
type actions struct {
	db     storeAndReader
	runner *jobs.Runner
	log    *slog.Logger
}

func (a actions) Cancel(ctx context.Context, tenant refund.TenantID, refundID, actor string) (refund.Refund, error) {
	r, err := a.db.FindRefund(ctx, tenant, refundID)
	if err != nil {
		return r, err
	}
	if _, err := a.db.Cancel(ctx, r.RefundRef, actor); err != nil {
		return r, err
	}
	return a.db.FindRefund(ctx, tenant, refundID)
}

// cases are what people can do about cases besides reading them.
type cases struct{ storeAndReader }

func (c cases) OpenCase(ctx context.Context, tenant refund.TenantID, refundID, evidence, actor string) (refund.RID, bool, error) {
	r, err := c.FindRefund(ctx, tenant, refundID)
	if err != nil {
		return refund.RID{}, false, err
	}
	return c.storeAndReader.OpenCase(ctx, r.RefundRef, evidence, actor)
}

func (a actions) Check(ctx context.Context, tenant refund.TenantID, refundID, actor string) (r refund.Refund, learned bool, err error) {
	before, err := a.db.FindRefund(ctx, tenant, refundID)
	if err != nil {
		return before, false, err
	}
	if err := a.runner.CheckNow(ctx, before.RefundRef); err != nil {
		return before, false, err
	}
	r, err = a.db.FindRefund(ctx, tenant, refundID)
	learned = r.JournalSeq != before.JournalSeq
	a.log.InfoContext(ctx, "check", "refund", refundID, "actor", actor, "learned", learned)
	return r, learned, err
}

const (
	// backlogEvery is how often the gauges are read.
	backlogEvery = 5 * time.Second
	// watchJitter is the share by which the pauses of the watchers vary, so that replicas do not query the database together.
	watchJitter = 0.2
)

// watchBacklog sets the gauges until ctx ends. While the database is unavailable they keep their last values.
func (a *app) watchBacklog(ctx context.Context) {
	var open []string
	for _, s := range refund.States() {
		open = append(open, string(s))
	}
	alarms := 0
	for {
		if s, err := a.reader.Backlog(ctx); err == nil {
			a.metrics.SetBacklog(telemetry.Backlog{Refunds: s.Refunds, Oldest: s.Oldest, Parked: s.Parked, Cases: s.Cases, Alarms: s.Alarms,
				Blocked: s.Blocked, Unread: s.Unread}, open)
			if s.Alarms > alarms {
				a.log.WarnContext(ctx, "parked messages have waited too long for their payment", "messages", s.Alarms)
			}
			alarms = s.Alarms
		} else if ctx.Err() == nil {
			a.log.WarnContext(ctx, "the gauges could not be read", "error", err.Error())
		}
		a.measureLag(ctx)
		if clock.Pause(ctx, clock.Jitter(backlogEvery, watchJitter)) != nil {
			return
		}
	}
}
