package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// decode makes an intake of a message, or sets the reason for parking it. Its tenant is found later, by findTenant. A panic of the
// decoder affects this message only.
func (b *Bridge) decode(m Message) (it *item) {
	header, body, bound := withoutEmpty(m.Header()), m.Body(), m.Bound()
	bound.keep(header)
	park := &intake.Park{Position: positionOf(m.Position(), header, body), Headers: header, Body: body}
	it = &item{msg: m, in: intake.Intake{Park: park}}
	defer func() {
		if p := recover(); p != nil {
			b.log.Error("decoder panicked", "position", m.Position(), "panic", fmt.Sprint(p))
			it.in, it.parkReason = intake.Intake{Park: park}, ParkUndecodable
		}
		it.in.Event.Consumer, it.in.Park = b.cfg.Name, park
		it.in.Actor, it.in.Transport = "system:bridge", b.cfg.Broker+":"+m.Position()
	}()
	if len(body) > b.cfg.MaxBody {
		it.parkReason, it.code = ParkTooLarge, b.owner(bound, "")
		return it
	}
	in, code, err := Codec{Clock: b.cfg.Clock}.Decode(attributesOf(header), body)
	if in.ReplayBatch.IsZero() {
		in.ReplayBatch = replayBatchOf(header)
	}
	if in.OccurredAt.IsZero() && !m.Time().IsZero() {
		in.OccurredAt = m.Time()
		header[brokerTimeHeader] = []string{m.Time().UTC().Format(time.RFC3339Nano)}
	}
	it.in = in
	switch {
	case bound.forbids(code, in.Type):
		it.parkReason = ParkOtherTenant
	case err != nil:
		it.parkReason, it.code = ParkUndecodable, b.owner(bound, code)
	case !b.allowed[code], !bound.Checked && len(b.cfg.Allowed) > 1:
		it.parkReason = ParkOtherTenant
	case in.OccurredAt.IsZero() && !b.cfg.Undated:
		it.parkReason, it.code = ParkUndated, code
	default:
		it.code = code
	}
	return it
}

// brokerTimeHeader stores the broker's time with a parked message whose event has no time.
const brokerTimeHeader = "refundry-broker-time"

// brokerTimeOf reads brokerTimeHeader; zero = it is missing or invalid.
func brokerTimeOf(h map[string][]string) time.Time {
	values := h[brokerTimeHeader]
	if len(values) != 1 {
		return time.Time{}
	}
	t, _ := parseTime(values[0])
	return t
}

// positionOf identifies a parked message by the broker's position and a digest of its content: after a broker was emptied, the same
// position may belong to another message.
func positionOf(place string, header map[string][]string, body []byte) string {
	h := sha256.New()
	attributes := attributesOf(header)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		fmt.Fprintf(h, "%d:%s%d:%s", len(name), name, len(attributes[name]), attributes[name])
	}
	h.Write(body)
	return place + "#" + hex.EncodeToString(h.Sum(nil)[:8])
}

// withoutEmpty copies headers without those that have no value.
func withoutEmpty(h map[string][]string) map[string][]string {
	out := make(map[string][]string, len(h))
	for name, values := range h {
		if len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

// tenantTTL is how long the row of a tenant is cached.
const tenantTTL = 5 * time.Second

type cachedTenant struct {
	tenant refund.Tenant
	until  time.Time
}

// findTenant sets the tenant of an item. An event for a tenant that does not exist is parked. Undecodable messages are parked under
// their tenant if it is known. Errors: those of the database.
func (b *Bridge) findTenant(ctx context.Context, it *item) error {
	if it.code == "" || it.in.Tenant.ID != 0 {
		return nil
	}
	if known, ok := b.tenants[it.code]; ok && b.cfg.Clock().Before(known.until) {
		it.in.Tenant = known.tenant
		return nil
	}
	t, err := b.cfg.Tenants.BridgeTenant(ctx, it.code)
	switch {
	case errors.Is(err, refund.ErrNotFound):
		it.code = ""
		if it.parkReason == "" {
			it.parkReason = ParkOtherTenant
		}
		return nil
	case err != nil:
		return err
	}
	b.tenants[it.code] = cachedTenant{t, b.cfg.Clock().Add(tenantTTL)}
	it.in.Tenant = t
	return nil
}
