package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

const (
	// busyTries is how often events whose rows are locked are tried before the
	// sender is asked to send the body again.
	busyTries = 3
	busyPause = 50 * time.Millisecond
)

// Reasons of parked events that were not passed to the Door.
const (
	ParkUndecodable = "undecodable"
	ParkOtherTenant = "other-tenant"
)

// ReceiveEvents accepts one CloudEvent or a batch. Each event gets a verdict of its own, and
// the answer is 2xx when all of them are stored. What cannot be read, or names another
// tenant, is parked, and its verdict says so: a sender that repeats failed requests would
// otherwise repeat it for ever.
//
// The whole request fails when it is no event (415, 400) or compressed (415), when it is too large (413), when the
// tenant is closed, and when the database is unavailable or an event's locks stay taken. What
// was parked before such a failure stays parked; a repeat of the request parks it once.
func (s *service) ReceiveEvents(ctx context.Context, _ oapi.ReceiveEventsRequestObject) (oapi.ReceiveEventsResponseObject, error) {
	if principalOf(ctx).Tenant.Closed {
		return nil, &Problem{Code: refund.CodeTenantClosed}
	}
	req, _ := ctx.Value(keyEvents).(eventRequest)
	group := make([]eventItem, len(req.events))
	for i, raw := range req.events {
		group[i] = s.decode(ctx, raw)
	}
	if err := s.parkFaulty(ctx, group); err != nil {
		return nil, err
	}
	if err := s.acceptEvents(ctx, group); err != nil {
		return nil, err
	}
	out := oapi.EventVerdicts{Results: make([]oapi.EventVerdict, len(group))}
	var err error
	for i, it := range group {
		if out.Results[i], err = s.verdict(i, it); err != nil {
			return nil, err
		}
	}
	fault.Point(fault.AnswerEvents)
	if req.silent {
		return oapi.ReceiveEvents204Response{Headers: oapi.ReceiveEvents204ResponseHeaders{PreferenceApplied: req.applied}}, nil
	}
	return oapi.ReceiveEvents200JSONResponse{Body: out, Headers: oapi.ReceiveEvents200ResponseHeaders{PreferenceApplied: req.applied}}, nil
}

// eventItem is one event of a request. In the end either fault or outcome is set.
type eventItem struct {
	in      intake.Intake
	fault   *fieldError
	reason  string // for parking, when fault is set
	outcome intake.Outcome
}

// decode makes an intake of one event, or sets the fault.
func (s *service) decode(ctx context.Context, raw rawEvent) eventItem {
	who := principalOf(ctx)
	in, tenantCode, err := s.events.Decode(raw.attributes, raw.body)
	in.Tenant, in.Event.Consumer, in.Actor = who.Tenant, intake.ConsumerEvents, who.Actor
	in.Transport, in.Park = "http:"+requestID(ctx), parkOf(raw)
	if raw.fault != nil {
		return eventItem{in: in, fault: raw.fault, reason: ParkUndecodable}
	}
	if err != nil {
		return eventItem{in: in, fault: faultOf(err), reason: ParkUndecodable}
	}
	if tenantCode != "" && tenantCode != who.Tenant.Code {
		e := atPointer("/tenantid", "is not the tenant of the key")
		return eventItem{in: in, fault: &e, reason: ParkOtherTenant}
	}
	return eventItem{in: in}
}

// faultOf is the fault that a decoder found, with its place.
func faultOf(err error) *fieldError {
	e := atPointer("", "is not a supported event")
	if at, ok := err.(interface {
		Pointer() string
		Detail() string
	}); ok {
		e = atPointer(at.Pointer(), at.Detail())
	}
	return &e
}

// parkOf is the event as it is parked. HTTP has no position in a log, so a digest of
// the bytes is the position: the same event sent again is parked once.
func parkOf(raw rawEvent) *intake.Park {
	h := sha256.New()
	h.Write(encodeJSON(raw.headers))
	h.Write(raw.body)
	return &intake.Park{Position: "http:" + hex.EncodeToString(h.Sum(nil)), Headers: raw.headers, Body: raw.body}
}

// parkFaulty parks the events with a fault, each with its reason, in one transaction. Errors: refund.ErrUnavailable.
func (s *service) parkFaulty(ctx context.Context, group []eventItem) error {
	var rows []intake.ParkedRow
	for _, it := range group {
		if it.fault != nil {
			rows = append(rows, intake.ParkedRow{EventRef: intake.EventRef{Tenant: it.in.Tenant.ID, EventID: it.in.Event}, Park: *it.in.Park, Reason: it.reason})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return s.parking.ParkAll(ctx, rows)
}

// acceptEvents passes the decoded events to the Door as one group, and busy ones again,
// up to busyTries times. It succeeds when every event has a final verdict.
func (s *service) acceptEvents(ctx context.Context, group []eventItem) error {
	var open []int
	for i := range group {
		if group[i].fault == nil {
			open = append(open, i)
		}
	}
	for try := 0; len(open) > 0; try++ {
		if try == busyTries {
			for _, i := range open {
				if group[i].outcome.Code == refund.CodeAccountNotConfigured {
					return &Problem{Code: refund.CodeAccountNotConfigured}
				}
			}
			return &Problem{Code: codeUnavailable, Detail: "Other requests are working on some of the refunds or payments. Send the whole body again."}
		}
		if try > 0 {
			if err := pause(ctx, busyPause); err != nil {
				return err
			}
		}
		intakes := make([]intake.Intake, len(open))
		for n, i := range open {
			intakes[n] = group[i].in
		}
		outs, err := s.door.Accept(ctx, intakes)
		if err != nil {
			return err
		}
		if len(outs) != len(open) {
			return fmt.Errorf("httpapi: the Door returned %d outcomes for %d events", len(outs), len(open))
		}
		var busy []int
		for n, i := range open {
			if group[i].outcome = outs[n]; outs[n].Verdict == intake.Busy {
				busy = append(busy, i)
			}
		}
		open = busy
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
