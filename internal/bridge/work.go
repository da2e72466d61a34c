package bridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Reasons of parked messages that the door never decided.
const (
	ParkUndecodable = "undecodable"  // not an event that we read
	ParkTooLarge    = "too-large"    // its body is over the limit
	ParkOtherTenant = "other-tenant" // for a tenant that this bridge may not speak for, or none
	ParkRefusedByDB = "unstorable"   // the database refuses a value
	ParkGivenUp     = "given-up"     // failed at every delivery, alone too
)

// item is one message on its way. done: its fate is durable and it may be acknowledged.
type item struct {
	msg     Message
	in      refund.Intake
	code    string // of its tenant
	poison  string // reason of parking
	done    bool
	outcome string // for trace and metrics
	cause   string
}

// errGivenBack: the bridge stops while it holds a batch; the broker gets it back.
var errGivenBack = errors.New("bridge: stopped while the batch could not be stored")

// work takes one batch until every message of it is durable, then acknowledges. It returns an error only when the
// incarnation must end: the bridge stops, or the broker does not take acknowledgements any more.
func (b *Bridge) work(ctx context.Context, msgs []Message) error {
	items := make([]*item, len(msgs))
	for i, m := range msgs {
		if b.limit.Wait(ctx) != nil {
			return errGivenBack
		}
		items[i] = b.decode(m)
	}
	held := b.cfg.Clock()
	for try := 0; ; try++ {
		err := b.store(items)
		if err == nil {
			return b.acknowledge(items)
		}
		wait := backoff(b.cfg.Retry, try+1)
		b.log.Warn("batch held", "messages", len(items), "try", try+1, "again", wait, "error", err.Error())
		if !b.pause(wait) {
			return errGivenBack
		}
		if b.cfg.Clock().Sub(held) >= b.cfg.HoldEvery {
			held = b.cfg.Clock()
			if err := b.hold(items); err != nil {
				return err
			}
		}
	}
}

// store makes the fate of every message durable, as far as it is not. An error means that something is open: try again.
func (b *Bridge) store(items []*item) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var group, alone []*item
	for _, it := range items {
		if err := b.findTenant(ctx, it); err != nil {
			return err
		}
		switch {
		case it.done:
		case it.poison != "":
			if err := b.park(ctx, it); err != nil {
				return err
			}
		case it.msg.Deliveries() >= b.cfg.Alone:
			alone = append(alone, it)
		default:
			group = append(group, it)
		}
	}
	err := b.accept(ctx, group)
	for _, it := range alone {
		err = errors.Join(err, b.accept(ctx, []*item{it}))
	}
	return err
}

// accept hands a group to the door. Each item that got a verdict is done; one that the database refuses becomes poison.
func (b *Bridge) accept(ctx context.Context, group []*item) error {
	if len(group) == 0 {
		return nil
	}
	intakes := make([]refund.Intake, len(group))
	for i, it := range group {
		intakes[i] = it.in
	}
	results, err := b.cfg.Door.AcceptEach(ctx, intakes)
	if err != nil {
		return err
	}
	var open error
	for i, r := range results {
		if err := b.settle(ctx, group[i], r); err != nil {
			open = errors.Join(open, err)
		}
	}
	return open
}

func (b *Bridge) settle(ctx context.Context, it *item, r refund.Result) error {
	switch {
	case errors.Is(r.Err, refund.ErrBadData):
		it.poison = ParkRefusedByDB
		return b.park(ctx, it)
	case r.Err != nil && it.msg.Deliveries() >= b.cfg.GiveUp && !errors.Is(r.Err, refund.ErrUnavailable) && !errors.Is(r.Err, refund.ErrOverloaded):
		it.poison = ParkGivenUp
		return b.park(ctx, it)
	case r.Err != nil:
		return r.Err
	case r.Verdict == refund.Busy:
		return refund.ErrBusy
	}
	it.done, it.outcome = true, string(r.Verdict)
	if it.cause = r.Cause; r.Cause == refund.CauseEvent && it.msg.Deliveries() > 1 {
		it.cause = CauseRedelivery
	}
	return nil
}

// CauseRedelivery is the cause of a replay that the broker made; refund.CauseEvent is left for those of producers.
const CauseRedelivery = "redelivery"

// park keeps a message that the door cannot take.
func (b *Bridge) park(ctx context.Context, it *item) error {
	if err := b.cfg.Lot.ParkPoison(ctx, it.in.Tenant.ID, it.in.Event, it.poison, *it.in.Park); err != nil {
		return err
	}
	b.cfg.Observe.Parked(b.cfg.Name, it.poison)
	it.done, it.outcome = true, "PARKED"
	return nil
}

// decode makes an intake of a message, or says why it has to be parked. Its tenant is found later, by store.
func (b *Bridge) decode(m Message) *item {
	it := &item{msg: m}
	header := m.Header()
	park := &refund.Park{Place: m.Place(), Headers: header, Body: m.Body()}
	if len(m.Body()) > b.cfg.MaxBody {
		it.in, it.poison = refund.Intake{Park: park}, ParkTooLarge
		it.in.Event.Consumer = b.cfg.Name
		return it
	}
	in, code, err := Codec{}.Decode(attributesOf(header), m.Body())
	in.Event.Consumer, in.Park = b.cfg.Name, park
	in.Actor, in.Transport = "system:bridge", b.cfg.Broker+":"+m.Place()
	it.in = in
	switch {
	case err != nil:
		it.poison = ParkUndecodable
	case !b.allowed[code]:
		it.poison = ParkOtherTenant
	default:
		it.code = code
	}
	return it
}

// tenantTTL is how long a tenant's row is believed.
const tenantTTL = 5 * time.Second

// findTenant fills in who the event is for. An event for a tenant that does not exist is poison.
func (b *Bridge) findTenant(ctx context.Context, it *item) error {
	if it.code == "" || it.in.Tenant.ID != 0 || it.poison != "" {
		return nil
	}
	if known, ok := b.tenants[it.code]; ok && b.cfg.Clock().Before(known.until) {
		it.in.Tenant = known.tenant
		return nil
	}
	t, err := b.cfg.Tenants.BridgeTenant(ctx, it.code)
	if errors.Is(err, refund.ErrNotFound) {
		it.poison = ParkOtherTenant
		return nil
	}
	if err != nil {
		return err
	}
	b.tenants[it.code] = cachedTenant{t, b.cfg.Clock().Add(tenantTTL)}
	it.in.Tenant = t
	return nil
}

type cachedTenant struct {
	tenant refund.Tenant
	until  time.Time
}

// acknowledge traces and acknowledges a batch whose fate is durable. The first failed acknowledgement ends the
// incarnation: what was not acknowledged comes again and is a replay.
func (b *Bridge) acknowledge(items []*item) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	trace := make([]refund.Delivery, len(items))
	for i, it := range items {
		trace[i] = refund.Delivery{Tenant: it.in.Tenant.ID, Event: it.in.Event, Transport: b.cfg.Broker + ":" + it.msg.Place() + "#" + strconv.Itoa(it.msg.Deliveries()),
			Outcome: it.outcome, Cause: it.cause, ReplayBatch: it.in.ReplayBatch}
		b.cfg.Observe.Delivered(b.cfg.Name, it.outcome, it.cause)
	}
	if err := b.cfg.Lot.Trace(ctx, trace); err != nil {
		b.log.Warn("deliveries not traced", "messages", len(items), "error", err.Error())
	}
	for _, it := range items {
		if err := it.msg.Ack(ctx); err != nil {
			return fmt.Errorf("acknowledging %s: %w", it.msg.Place(), err)
		}
	}
	return nil
}

func (b *Bridge) hold(items []*item) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, it := range items {
		if err := it.msg.Hold(ctx); err != nil {
			return fmt.Errorf("holding %s: %w", it.msg.Place(), err)
		}
	}
	return nil
}
