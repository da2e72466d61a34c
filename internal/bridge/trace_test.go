package bridge_test

import (
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

func TestMessagesAreGroupedFromDeliveries(t *testing.T) {
	l := newFixture(t)
	l.captured("pay_1", "cap_1", 100)
	o := l.accept(event("e1", "rf_1", "pay_1", 60))
	batch := pg.NewRID()
	row := func(source, id, transport, outcome, cause string, rid, batch refund.RID) intake.Delivery {
		return intake.Delivery{Tenant: l.tenant.ID, Event: intake.EventID{Consumer: "orders", Source: source, ID: id}, Transport: transport,
			Outcome: outcome, Cause: cause, RID: rid, ReplayBatch: batch}
	}
	for _, d := range []intake.Delivery{
		row("/shop", "e1", "nats:S/1#1", "TAKEN", "", o.Refund.RID, refund.RID{}),
		row("/shop", "e1", "nats:S/1#2", "REPLAYED", "redelivery", o.Refund.RID, refund.RID{}),
		row("/other", "e1", "nats:S/2#1", "REFUSED", "amount-exceeds-refundable", refund.RID{}, refund.RID{}),
		row("", "", "nats:S/3#1", "PARKED", "undecodable", refund.RID{}, refund.RID{}),
		row("/shop", "e1", "nats:S/9#1", "REPLAYED", "replay", o.Refund.RID, batch),
	} {
		if err := l.store.RecordDeliveries(t.Context(), []intake.Delivery{d}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := l.reader.ListMessages(t.Context(), l.tenant.ID, intake.MessageQuery{Limit: 2})
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
	first := list[0]
	if first.Source != "/shop" || first.TimesSeen != 3 || first.Outcome != "REPLAYED" || first.Cause != "replay" || first.ReplayBatch != batch ||
		first.RefundID != "rf_1" ||
		!first.FirstSeen.Before(first.LastSeen) || first.Decision == nil || first.Decision.Outcome != intake.Taken {
		t.Errorf("%+v, want the message with the latest delivery and all its deliveries counted", first)
	}
	rest, err := l.reader.ListMessages(t.Context(), l.tenant.ID, intake.MessageQuery{Limit: 5, Before: list[1].LastDelivery})
	if err != nil || len(rest) != 1 || rest[0].Source != "/other" || list[1].EventID != "" {
		t.Errorf("page 2: %+v %v, want each message once", rest, err)
	}
	if only, err := l.reader.ListMessages(t.Context(), l.tenant.ID, intake.MessageQuery{Limit: 5, RefundID: "rf_1"}); err != nil || len(only) != 1 {
		t.Errorf("messages of the refund: %+v %v, want one", only, err)
	}
	both, err := l.reader.Messages(t.Context(), l.tenant.ID, "orders", "e1", "")
	if err != nil || len(both) != 2 || len(both[1].Deliveries) != 3 || both[1].Deliveries[0].Transport != "nats:S/1#1" || both[0].TimesSeen != 1 {
		t.Errorf("%+v %v, want one message for each source with its deliveries in the order of time", both, err)
	}
	if none, err := l.reader.Messages(t.Context(), l.tenant.ID+1, "orders", "e1", ""); err != nil || len(none) != 0 {
		t.Errorf("%+v %v, want none for another tenant", none, err)
	}
}
