package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/refundry/refundry/api/strictjson"
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
// the answer is 200 when all of them are stored. An event that cannot be read, or that names
// another tenant, is parked, and its verdict says so: one bad event never fails the whole
// request, because a sender that repeats failed requests would then repeat it for ever.
//
// The whole request fails when the body is not JSON (400 malformed-json, by the middleware
// prepare) or too large, when its media type is not supported, when the tenant is closed, and
// when the database is unavailable or an event's locks stay taken. What was parked before
// such a failure stays parked; a repeat of the request parks it once.
func (s *service) ReceiveEvents(ctx context.Context, req oapi.ReceiveEventsRequestObject) (oapi.ReceiveEventsResponseObject, error) {
	if principalOf(ctx).Tenant.Closed {
		return nil, &Problem{Code: refund.CodeTenantClosed}
	}
	items, err := s.split(ctx, req)
	if err != nil {
		return nil, err
	}
	group := make([]eventItem, len(items))
	for i, raw := range items {
		group[i] = s.decode(ctx, raw)
	}
	if err := s.parkFaulty(ctx, group); err != nil {
		return nil, err
	}
	if err := s.acceptEvents(ctx, group); err != nil {
		return nil, err
	}
	out := oapi.EventVerdicts{Results: make([]oapi.EventVerdict, len(group))}
	for i, it := range group {
		if out.Results[i], err = s.verdict(i, it); err != nil {
			return nil, err
		}
	}
	fault.Point(fault.AnswerEvents)
	return oapi.ReceiveEvents200JSONResponse(out), nil
}

// rawEvent is one undecoded event. attributes nil = the body is the whole event.
type rawEvent struct {
	attributes map[string]string
	body       []byte
}

// eventItem is one event of a request. In the end either fault or outcome is set.
type eventItem struct {
	in      intake.Intake
	fault   *fieldError
	reason  string // for parking, when fault is set
	outcome intake.Outcome
}

// split returns the events of the body in their order, undecoded: one, or the elements of a
// batch. Errors: *Problem body-too-large for a batch above the limit, invalid-request for a body in
// binary mode without ce-specversion.
func (s *service) split(ctx context.Context, req oapi.ReceiveEventsRequestObject) ([]rawEvent, error) {
	switch {
	case req.ApplicationCloudeventsPlusJSONBody != nil:
		return []rawEvent{{body: *req.ApplicationCloudeventsPlusJSONBody}}, nil
	case req.JSONBody != nil:
		attributes, _ := ctx.Value(keyAttributes).(map[string]string)
		if attributes["specversion"] == "" {
			return nil, invalid(atHeader("ce-specversion", "is required with application/json"))
		}
		return []rawEvent{{attributes: attributes, body: *req.JSONBody}}, nil
	case req.ApplicationCloudeventsBatchPlusJSONBody != nil:
		parts, wrong := strictjson.Elements(*req.ApplicationCloudeventsBatchPlusJSONBody)
		if wrong != nil {
			return nil, wrong // impossible: prepare has refused a body that is no JSON array
		}
		if len(parts) > s.limits.Batch {
			return nil, &Problem{Code: codeTooLarge, Detail: fmt.Sprintf("A batch may have at most %d events.", s.limits.Batch)}
		}
		out := make([]rawEvent, len(parts))
		for i, p := range parts {
			out[i].body = p
		}
		return out, nil
	}
	return nil, &Problem{Code: codeUnsupportedMedia}
}

// decode makes an intake of one event, or sets the fault.
func (s *service) decode(ctx context.Context, raw rawEvent) eventItem {
	who := principalOf(ctx)
	in, tenantCode, err := s.events.Decode(raw.attributes, raw.body)
	in.Tenant, in.Event.Consumer, in.Actor = who.Tenant, intake.ConsumerEvents, who.Actor
	in.Transport, in.Park = "http:"+requestID(ctx), parkOf(raw)
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
	headers := map[string][]string{}
	for name, value := range raw.attributes {
		headers["ce-"+name] = []string{value}
	}
	h.Write(encodeJSON(headers))
	h.Write(raw.body)
	return &intake.Park{Position: "http:" + hex.EncodeToString(h.Sum(nil)), Headers: headers, Body: raw.body}
}

// parkFaulty parks the events with a fault, each with its reason. Errors: refund.ErrUnavailable.
func (s *service) parkFaulty(ctx context.Context, group []eventItem) error {
	for _, it := range group {
		if it.fault == nil {
			continue
		}
		if err := s.parking.Park(ctx, it.in.Tenant.ID, it.in.Event, it.reason, *it.in.Park); err != nil {
			return err
		}
	}
	return nil
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

// binaryAttributes reads the ce- headers of CloudEvents' HTTP binding, whose
// values are percent-encoded (section 3.1.3.2). Errors: *Problem invalid-request for
// a header that comes twice or is not well encoded.
func binaryAttributes(h http.Header) (map[string]string, error) {
	out := map[string]string{}
	for name, values := range h {
		attribute, found := strings.CutPrefix(strings.ToLower(name), "ce-")
		if !found {
			continue
		}
		if len(values) != 1 {
			return nil, invalid(atHeader(clip(strings.ToLower(name)), "must be sent once"))
		}
		value, err := url.PathUnescape(values[0])
		if err != nil {
			return nil, invalid(atHeader(clip(strings.ToLower(name)), "is not valid percent-encoding"))
		}
		out[attribute] = value
	}
	if t := h.Get("Content-Type"); t != "" {
		out["datacontenttype"] = t
	}
	return out, nil
}
