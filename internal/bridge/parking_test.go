package bridge

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// M6: messages with any headers, and empty messages.
func TestMessagesWithUnusualHeaders(t *testing.T) {
	odd := validMessage("rf-odd")
	odd.header = map[string][]string{"x-death": nil, "": {}, "x-count": {"1", "2"}, "bin\xff": {"\x00\xfe"},
		"Content-Type": {"application/cloudevents+json"}, "ce-id": {"other"}}
	binary := &fakeMessage{position: "q/binary", body: []byte(`{"refundId":"rf-bin","orderId":"o","paymentId":"p","amount":1,"currency":"USD"}`),
		header: map[string][]string{"ce-specversion": {"1.0"}, "CE-Id": {"b"}, "ce-source": {"/s"}, "ce-type": {"refund.requested"}, "ce-tenantid": {"demo"}}}
	twice := &fakeMessage{position: "q/twice", body: binary.body,
		header: map[string][]string{"ce-specversion": {"1.0"}, "ce-id": {"b", "c"}, "ce-source": {"/s"}, "ce-type": {"refund.requested"}}}
	f := runBridge(t, newFakeBroker(odd, &fakeMessage{position: "q/empty"}, binary, twice, validMessage("rf-2"), &fakeMessage{}), newFakeDoor(), nil)
	f.waitDrained()
	f.stop()
	if f.door.known["rf-odd"] != 1 || f.door.known["rf-bin"] != 1 || f.door.known["rf-2"] != 1 {
		t.Errorf("decided %v, want rf-odd, rf-bin and rf-2: headers are never refused, and the content type decides the mode", f.door.known)
	}
	if got := f.store.reasons(); got[ParkUndecodable] != 3 {
		t.Errorf("parked %v, want the two empty messages and the one with two ids", got)
	}
}

// After a broker was emptied, the same position may belong to another message.
func TestParkedMessagesDifferByPositionAndBytes(t *testing.T) {
	f := runBridge(t, newFakeBroker(&fakeMessage{position: "q/1", body: []byte("junk")}, &fakeMessage{position: "q/1", body: []byte("other junk")},
		&fakeMessage{position: "q/1", body: []byte("junk")}), newFakeDoor(), nil)
	f.waitDrained()
	if len(f.store.parked) != 2 {
		t.Errorf("%d messages parked, want 2: equal bytes at the same position are one message, other bytes are another", len(f.store.parked))
	}
}

func TestFailingMessageDoesNotBlockOthers(t *testing.T) {
	door := newFakeDoor()
	door.decide = func(in intake.Intake, _ int) *intake.Result {
		switch in.Refund.RefundID {
		case "rf-3":
			return failure(errors.New("unexpected error"))
		case "rf-4":
			return failure(fmt.Errorf("%w: a value", refund.ErrBadData))
		case "rf-5":
			return verdict(intake.Busy, refund.CodeInProgress)
		case "rf-6":
			return verdict(intake.Conflict, refund.CodeKeyReused)
		case "rf-7":
			return verdict(intake.Waiting, refund.CodePaymentUnknown)
		}
		return nil
	}
	f := runBridge(t, newFakeBroker(validMessages(0, 20)...), door, func(c *Config) { c.MaxBatch = 5 })
	f.waitFor("all messages but the busy one are acknowledged", func() bool { return len(f.left) == 1 && f.left[0].position == "q/rf-5" })
	f.stop()
	if got := f.store.reasons(); got[ParkGivenUp] != 1 || got[ParkRefusedByDB] != 1 || len(f.store.parked) != 2 {
		t.Errorf("parked %v, want one given-up and one unstorable", got)
	}
	if n := door.tries["rf-3"]; n != 11 {
		t.Errorf("the failing message was tried %d times, want 11", n)
	}
}

// A message that was delivered often may crash the process, so it is parked before it is tried.
func TestMessageIsParkedBeforeALateTry(t *testing.T) {
	healthy, crashing := validMessage("rf-healthy"), validMessage("rf-crashing")
	healthy.delivered, crashing.delivered = 1000, 20
	door := newFakeDoor()
	var parkedBefore atomic.Bool
	door.decide = func(in intake.Intake, _ int) *intake.Result {
		if in.Refund.RefundID == "rf-healthy" {
			parkedBefore.Store(!in.Parked.IsZero())
		} else {
			t.Errorf("%s was tried, want it only parked: it has been parked three times", in.Refund.RefundID)
		}
		return nil
	}
	f := &harness{T: t, fakeBroker: newFakeBroker(healthy, crashing), door: door, store: newFakeStore()}
	f.store.tries[positionOf(crashing.position, nil, crashing.body)] = maxParkedRetries
	b, err := New(Config{Name: "orders", Broker: "fake", Open: f.open, Door: door,
		ParkedMessages: f.store, Deliveries: f.store, Tenants: fakeTenants{}, Allowed: []string{"demo"}})
	if err != nil {
		t.Fatal(err)
	}
	f.b = b
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.waitDrained()
	f.stop()
	if !parkedBefore.Load() || door.known["rf-healthy"] != 1 {
		t.Error("a message that was delivered a thousand times was not parked first and then decided once")
	}
}

func TestTenants(t *testing.T) {
	other, none := validMessage("rf-1"), validMessage("rf-2")
	other.body = []byte(`{"specversion":"1.0","id":"e","source":"/s","type":"refund.requested","tenantid":"rival",` +
		`"data":{"refundId":"r","orderId":"o","paymentId":"p","amount":1,"currency":"USD"}}`)
	none.body = []byte(`{"specversion":"1.0","id":"e","source":"/s","type":"refund.requested",` +
		`"data":{"refundId":"r","orderId":"o","paymentId":"p","amount":1,"currency":"USD"}}`)
	f := runBridge(t, newFakeBroker(other, none, validMessage("rf-3")), newFakeDoor(), nil)
	f.waitDrained()
	if f.store.reasons()[ParkOtherTenant] != 2 || len(f.door.known) != 1 {
		t.Errorf("parked %v and decided %v, want two parked for other tenants and one decided", f.store.reasons(), f.door.known)
	}
}

func TestTooLargeMessageIsParked(t *testing.T) {
	big := validMessage("rf-big")
	big.body = append(big.body, make([]byte, 2000)...)
	f := runBridge(t, newFakeBroker(big, validMessage("rf-1")), newFakeDoor(), func(c *Config) { c.MaxBody = 1000 })
	f.waitDrained()
	if f.store.reasons()[ParkTooLarge] != 1 {
		t.Errorf("parked %v, want the large message", f.store.reasons())
	}
}

func TestReplayMark(t *testing.T) {
	const id = "0190a7c8-1111-7111-8111-111111111111"
	marked, beside := validMessage("rf-1"), validMessage("rf-2")
	marked.body = []byte(`{"specversion":"1.0","id":"e1","source":"/s","type":"refund.requested","tenantid":"demo","replaybatchid":"` + id +
		`","data":{"refundId":"rf-1","orderId":"o","paymentId":"p","amount":1,"currency":"USD"}}`)
	beside.header = map[string][]string{"Replaybatchid": {id}}
	f := runBridge(t, newFakeBroker(marked, beside, validMessage("rf-3")), newFakeDoor(), nil)
	f.waitDrained()
	f.stop()
	var marks int
	for _, d := range f.store.deliveries {
		if d.ReplayBatch.String() == id {
			marks++
		}
	}
	if marks != 2 {
		t.Errorf("%d deliveries have the replay batch, want 2: one from an extension of the event, one from a header", marks)
	}
}

// The messages of a group that cannot be decided are parked in one transaction. If that fails because of one of them, the others are parked each by itself.
func TestBadMessagesOfAGroupAreParkedTogether(t *testing.T) {
	t.Parallel()
	for refused, want := range map[string]string{"": "[3]", "two": "[1 1]"} {
		store := newFakeStore()
		store.refused = refused
		b, err := New(Config{Name: "orders", Open: newFakeBroker().open, Door: &fakeDoor{}, ParkedMessages: store, Deliveries: store,
			Tenants: fakeTenants{}, Allowed: []string{"demo"}})
		if err != nil {
			t.Fatal(err)
		}
		var group []*item
		for _, body := range []string{"one", "two", "three"} {
			m := validMessage("rf-1")
			m.body, m.position = []byte(body), body
			group = append(group, b.decode(&fakeDelivery{fakeMessage: m}))
		}
		if err := b.store(t.Context(), group); err != nil || fmt.Sprint(store.groups) != want {
			t.Errorf("refused %q: transactions of %v messages, %v, want %s", refused, store.groups, err, want)
		}
		if open := !group[1].done; open != (refused != "") || !group[0].done || !group[2].done {
			t.Errorf("refused %q: done %t %t %t", refused, group[0].done, group[1].done, group[2].done)
		}
	}
}
