package bridgetest

import (
	"bytes"
	"fmt"
)

func duplicateNewTransport(w *suite) {
	e := eventNo(1).message()
	again := e
	e.TransportID, again.TransportID = "t-1", "t-2"
	w.publish(e, again, again)
	w.start(w.config(nil))
	w.waitSettled()
	w.want(1, 1, 0, 0)
	if w.seen.count("REPLAYED") == 0 {
		w.Error("no replay, want the repeat with another transport id to reach the Door")
	}
}

func duplicateWindow(w *suite) {
	e := eventNo(1).message()
	e.TransportID = "t-1"
	first := w.publish(e, e)
	w.waitFor("the window has ended and the broker stores the repeat", func() bool { return w.broker.DuplicateWindow() == 0 || w.publish(e) == 1 })
	w.start(w.config(nil))
	w.waitSettled()
	w.want(1, 1, 0, 0)
	if replays := w.seen.count("cause event"); replays == 0 && first == 1 {
		w.Error("no replay, want the repeat after the window to be a replay of the event")
	}
}

func sameEventOtherAmount(w *suite) {
	good, other := eventNo(1), eventNo(1)
	other.amount++
	a, b := good.message(), other.message()
	a.TransportID, b.TransportID = "t-1", "t-2"
	w.publish(a, b, a, eventNo(2).message())
	w.start(w.config(nil))
	w.waitSettled()
	w.want(2, 2, 1, 1)
	if w.parked("idempotency-key-reused") != 1 {
		w.Error("the message with the other amount is not parked with the code of its conflict")
	}
}

func newEventKnownRefund(w *suite) {
	first, same, other := eventNo(1), eventNo(1), eventNo(1)
	same.id, other.id = "evt-same", "evt-other"
	other.amount++
	w.publish(first.message(), same.message(), other.message())
	w.start(w.config(nil))
	w.waitSettled()
	w.want(1, 3, 1, 1)
	if w.parked("refund-parameters-conflict") != 1 || w.seen.count("cause refund") != 1 {
		w.Errorf("outcomes %v, want a replay by refund for equal parameters and a parked conflict for others", w.seen.counts)
	}
}

func poisonMidBatch(w *suite) {
	msgs := append(messages(0, 5), Message{Body: []byte(`{"specversion":"1.0","id":`)})
	w.publish(append(msgs, messages(5, 10)...)...)
	w.start(w.config(nil))
	w.waitSettled()
	w.want(10, 10, 0, 1)
	if w.parked("undecodable") != 1 {
		w.Error("the undecodable message is not parked")
	}
	if w.count(`SELECT count(*) FROM parked WHERE body = $1`, msgs[5].Body) != 1 {
		w.Error("the parked body is not that of the message")
	}
}

func largeBody(w *suite) {
	largest := w.broker.LargestBody()
	if largest <= mostBody {
		w.Fatalf("the broker accepts %d bytes, want more than the %d that a bridge decodes", largest, mostBody)
	}
	big := Message{Body: bytes.Repeat([]byte("x"), largest)}
	w.publish(eventNo(0).message(), big, eventNo(1).message())
	w.start(w.config(nil))
	w.waitSettled()
	w.want(2, 2, 0, 1)
	if w.count(`SELECT count(*) FROM parked WHERE reason = 'too-large' AND octet_length(body) = $1`, largest) != 1 {
		w.Error("the large message is not parked with all its bytes")
	}
}

func unknownVersion(w *suite) {
	e := eventNo(1)
	e.version = "9.9"
	w.publish(eventNo(0).message(), e.message())
	w.start(w.config(nil))
	w.waitSettled()
	w.want(1, 1, 0, 1)
	if w.count(`SELECT count(*) FROM parked WHERE reason = 'undecodable' AND event_id = 'evt-1' AND tenant_id = $1`, int64(w.tenant.ID)) != 1 {
		w.Error("the event of an unknown version is not parked with its tenant and its event id")
	}
}

// manyRedeliveries is a message with a thousand unacknowledged deliveries, and an event that its producer sends a thousand times.
func manyRedeliveries(w *suite) {
	const times = 1000
	w.publish(eventNo(0).message())
	w.broker.Redeliver(w, consumer, times)
	again := make([]Message, times)
	for i := range again {
		again[i] = eventNo(1).message()
		again[i].TransportID = fmt.Sprintf("t-%d", i)
	}
	w.publish(again...)
	w.start(w.config(nil))
	w.waitSettled()
	w.want(2, 2, 0, 0)
	if n := w.seen.count("REPLAYED"); n != times-1 {
		w.Errorf("%d replays, want %d", n, times-1)
	}
}

// backlog has more messages than the broker delivers before acknowledgements.
func backlog(w *suite) {
	n := max(sized(2000, 20000), 2*w.broker.Window())
	w.publish(messages(0, n)...)
	w.start(w.config(nil))
	w.waitSettled()
	w.want(n, n, 0, 0)
	if got := w.count(`SELECT count(*) FROM deliveries WHERE outcome = 'TAKEN' AND rid IS NOT NULL`); got != n {
		w.Errorf("%d deliveries traced to their refund, want %d", got, n)
	}
}

func twoConsumers(w *suite) {
	w.broker.Prepare(w, "audit")
	w.publish(messages(0, 20)...)
	w.start(w.config(nil))
	second := w.config(nil)
	second.Name, second.Open = "audit", w.broker.Opener(w, "audit", nil)
	w.start(second)
	w.waitSettled()
	w.waitFor("the second consumer has acknowledged all messages", func() bool { return w.broker.Lag(w, "audit") == 0 })
	w.want(20, 40, 0, 0)
	if n := w.count(`SELECT count(DISTINCT consumer) FROM receipts`); n != 2 {
		w.Errorf("%d consumers have receipts, want 2: deduplication is per consumer", n)
	}
}

// refundBeforePayment is case C30.
func refundBeforePayment(w *suite) {
	early := eventNo(1)
	early.bare = true
	w.publish(early.message(), eventNo(200).message())
	w.start(w.config(nil))
	w.waitSettled()
	if w.refunds() != 1 || w.parked("waiting") != 1 {
		w.Fatalf("%d refunds and %d waiting, want 1 and 1: an early request waits for its payment and does not block others", w.refunds(), w.parked("waiting"))
	}
	w.publish(captured("cap-evt", early.payment))
	w.waitSettled()
	w.waitFor("the waiting request is accepted", func() bool { w.wake(); return w.refunds() == 2 })
	w.want(2, 3, 0, 0)
}

func otherTenant(w *suite) {
	if _, err := w.store.AddTenant(w.Context(), "rival", "test"); err != nil {
		w.Fatal(err)
	}
	foreign, nobody := eventNo(1), eventNo(2)
	foreign.tenant, nobody.tenant = "rival", ""
	w.publish(foreign.message(), nobody.message(), eventNo(3).message())
	w.start(w.config(nil))
	w.waitSettled()
	w.want(1, 1, 0, 2)
	if w.parked("other-tenant") != 2 || w.count(`SELECT count(*) FROM parked WHERE tenant_id <> 0`) != 0 {
		w.Error("events for other tenants are not parked without a tenant")
	}
}
