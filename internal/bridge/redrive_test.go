package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/refundtest"
	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/read"
)

// fixture is a real database with a Door and a Redriver.
type fixture struct {
	*testing.T
	store    *store.Store
	reader   *read.Reader
	door     *intake.Door
	tenant   refund.Tenant
	redriver bridge.Redriver
}

// database is what a Redriver uses of it.
type database struct {
	*store.Store
	*read.Reader
}

// discard settles a parked message and reads it back.
func (l *fixture) discard(tenant refund.TenantID, id refund.RID, by string) (intake.ParkedView, error) {
	if err := l.store.Discard(l.Context(), tenant, id, by); err != nil {
		return intake.ParkedView{}, err
	}
	return l.reader.ParkedMessage(l.Context(), tenant, id)
}

type demoAccount struct{}

func (demoAccount) Account(name string, _ refund.TenantID) (refund.Contract, bool, bool) {
	return refundtest.Contract(), name == "demo", true
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	url := dbtest.Template(t, "redrive", func(url string) error {
		_, err := migrate.Up(context.Background(), migrate.Config{URL: url})
		return err
	})
	s, err := store.Open(t.Context(), store.Config{URL: url, Accounts: demoAccount{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	row, err := s.AddTenant(t.Context(), "demo", access.ModeTest)
	if err != nil {
		t.Fatal(err)
	}
	l := &fixture{T: t, store: s, reader: read.New(s.Pool(), demoAccount{}), door: intake.NewDoor(intake.DoorConfig{Accepter: s, NewRID: pg.NewRID}),
		tenant: row.Tenant()}
	t.Cleanup(l.door.Stop)
	l.redriver = bridge.Redriver{ParkedMessages: database{s, l.reader}, Door: l.door, NewRID: pg.NewRID, Log: slog.New(slog.DiscardHandler)}
	return l
}

// event is the body of a refund.requested.
func event(id, refundID, payment string, amount int) []byte {
	return fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"/shop","type":"refund.requested","tenantid":"demo",`+
		`"data":{"refundId":%q,"orderId":"ord_1","paymentId":%q,"amount":%d,"currency":"USD"}}`, id, refundID, payment, amount)
}

// accept passes a message to the Door as a bridge does.
func (l *fixture) accept(body []byte) intake.Outcome {
	l.Helper()
	in, _, err := bridge.Codec{}.Decode(nil, body)
	if err != nil {
		l.Fatal(err)
	}
	in.Tenant, in.Event.Consumer, in.Actor, in.Transport = l.tenant, "orders", "system:bridge", "nats:S/1"
	in.Park = &intake.Park{Position: "S/" + in.Event.ID, Headers: map[string][]string{}, Body: body}
	out, err := l.door.Accept(l.Context(), []intake.Intake{in})
	if err != nil {
		l.Fatal(err)
	}
	return out[0]
}

// captured sends a payment.captured.
func (l *fixture) captured(id, capture string, amount int) {
	l.Helper()
	body := fmt.Appendf(nil, `{"specversion":"1.0","id":"evt-%[1]s-%[2]s","source":"/shop","type":"payment.captured","tenantid":"demo",`+
		`"data":{"paymentId":%[1]q,"captureId":%[2]q,"orderId":"ord_1","amount":%[3]d,"currency":"USD","channelAccount":"demo"}}`, id, capture, amount)
	if o := l.accept(body); o.Verdict != intake.Taken {
		l.Fatalf("capture: %+v", o)
	}
}

// snapshot announces a payment, or a new captured sum of it.
func (l *fixture) snapshot(id string, version int64, amount int64) {
	l.Helper()
	spec := intake.PaymentSpec{OrderID: "ord_1", Amount: amount, Currency: "USD", Account: "demo", Version: version, VersionGiven: true}
	if _, _, err := l.store.PutPayment(l.Context(), l.tenant, id, spec, "actor:test"); err != nil {
		l.Fatal(err)
	}
}

func (l *fixture) onlyParked() intake.ParkedView {
	l.Helper()
	open, err := l.reader.ListParked(l.Context(), l.tenant.ID, intake.ParkedFilter{Limit: 10})
	if err != nil || len(open) != 1 {
		l.Fatalf("%d parked messages (%v), want one", len(open), err)
	}
	return open[0]
}

func TestRedriveOfARefusal(t *testing.T) {
	l := newFixture(t)
	l.snapshot("pay_1", 1, 50)
	body := event("e1", "rf_1", "pay_1", 60)
	if o := l.accept(body); o.Code != refund.CodeAmountExceeds {
		t.Fatalf("%+v, want a refusal", o)
	}
	p := l.onlyParked()
	again, err := l.redriver.Redrive(t.Context(), l.tenant.ID, p.ParkedMessage.ID, "actor:maria")
	if err != nil || again.Outcome.Verdict != intake.Refused || again.Outcome.Replayed || !again.Parked.DoneAt.IsZero() {
		t.Fatalf("%+v %v, want a new refusal: nothing has changed", again, err)
	}
	l.snapshot("pay_1", 2, 100)
	if o := l.accept(body); o.Verdict != intake.Refused || !o.Replayed {
		t.Fatalf("%+v, want the stored refusal: a redelivery is never evaluated again", o)
	}
	done, err := l.redriver.Redrive(t.Context(), l.tenant.ID, p.ParkedMessage.ID, "actor:maria")
	if err != nil || done.Outcome.Verdict != intake.Taken || done.Parked.DoneHow != "accepted" || done.Parked.DoneBy != "actor:maria" || done.Batch.IsZero() {
		t.Fatalf("%+v %v, want accepted, closed by the actor and with a replay batch", done, err)
	}
	if o := l.accept(body); o.Verdict != intake.Replayed || o.Refund == nil || o.Refund.RefundID != "rf_1" {
		t.Errorf("%+v, want a replay: the receipt of the event is accepted now", o)
	}
	repeated, err := l.redriver.Redrive(t.Context(), l.tenant.ID, p.ParkedMessage.ID, "actor:maria")
	if err != nil || repeated.Tried {
		t.Errorf("%+v %v, want no try: the message is closed", repeated, err)
	}
	m, err := l.reader.Messages(t.Context(), l.tenant.ID, "orders", "e1", "")
	if err != nil || len(m) != 1 || m[0].Decision == nil || m[0].Decision.Outcome != intake.Taken || m[0].RefundID != "rf_1" {
		t.Errorf("%+v %v, want one message with the new decision", m, err)
	}
}

func TestConflictIsNotRedriven(t *testing.T) {
	l := newFixture(t)
	l.captured("pay_1", "cap_1", 100)
	l.accept(event("e1", "rf_1", "pay_1", 60))
	if o := l.accept(event("e1", "rf_1", "pay_1", 61)); o.Verdict != intake.Conflict {
		t.Fatalf("%+v", o)
	}
	p := l.onlyParked()
	if _, err := l.redriver.Redrive(t.Context(), l.tenant.ID, p.ParkedMessage.ID, "actor:maria"); !errors.Is(err, bridge.ErrNotRedrivable) {
		t.Errorf("%v, want ErrNotRedrivable", err)
	}
	gone, err := l.discard(l.tenant.ID, p.ParkedMessage.ID, "actor:maria")
	if err != nil || gone.DoneHow != "discarded" || gone.DoneBy != "actor:maria" {
		t.Fatalf("%+v %v", gone, err)
	}
	twice, err := l.discard(l.tenant.ID, p.ParkedMessage.ID, "actor:john")
	if err != nil || twice.DoneBy != "actor:maria" || !twice.DoneAt.Equal(gone.DoneAt) {
		t.Errorf("%+v %v, want the first discard unchanged", twice, err)
	}
	if _, err := l.discard(l.tenant.ID+1, p.ParkedMessage.ID, "actor:eve"); !errors.Is(err, refund.ErrNotFound) {
		t.Errorf("%v, want ErrNotFound for another tenant", err)
	}
}

func TestRedriveOfAnUndecodableMessage(t *testing.T) {
	l := newFixture(t)
	park := func(place string, body []byte) refund.RID {
		id, _, err := l.store.ParkBeforeRetry(t.Context(), l.tenant.ID, intake.EventID{Consumer: "orders"}, bridge.ParkUndecodable,
			intake.Park{Position: place, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	junk := park("S/1", []byte("junk"))
	still, err := l.redriver.Redrive(t.Context(), l.tenant.ID, junk, "actor:maria")
	if err != nil || still.Fault == nil || still.Parked.Tries != 2 || !still.Parked.DoneAt.IsZero() {
		t.Errorf("%+v %v, want it undecodable, counted and parked", still, err)
	}
	// An older version could not decode this message; this version can. Its payment is unknown.
	readable := park("S/2", event("e2", "rf_2", "pay_2", 10))
	waits, err := l.redriver.Redrive(t.Context(), l.tenant.ID, readable, "actor:maria")
	if err != nil || waits.Outcome.Verdict != intake.Waiting || waits.Parked.WakePayment != "pay_2" || waits.Parked.Reason != intake.ParkedWaiting {
		t.Fatalf("%+v %v, want it waiting for its payment", waits, err)
	}
	l.captured("pay_2", "cap_1", 100)
	waker := bridge.Waker{ParkedMessages: l.store, Door: l.door, Log: slog.New(slog.DiscardHandler)}
	if err := waker.WakePayment(t.Context(), l.tenant.ID, "pay_2"); err != nil {
		t.Fatal(err)
	}
	if p, err := l.reader.ParkedMessage(t.Context(), l.tenant.ID, readable); err != nil || p.DoneHow != "accepted" || p.DoneBy != "system:wake" {
		t.Errorf("%+v %v, want accepted by the waker", p, err)
	}
}

// Concurrent redrives and a discard give one refund or none, and the row says which.
func TestRedriveAndDiscardRace(t *testing.T) {
	l := newFixture(t)
	for i := range 10 {
		id, payment := fmt.Sprintf("rf_%d", i), fmt.Sprintf("pay_%d", i)
		l.snapshot(payment, 1, 10)
		l.accept(event("e"+id, id, payment, 20))
		p := l.onlyParked()
		l.snapshot(payment, 2, 20)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := l.redriver.Redrive(t.Context(), l.tenant.ID, p.ParkedMessage.ID, "actor:maria"); err != nil && !errors.Is(err, refund.ErrBusy) {
					t.Errorf("redrive: %v", err)
				}
			})
		}
		all.Go(func() {
			if _, err := l.discard(l.tenant.ID, p.ParkedMessage.ID, "actor:john"); err != nil {
				t.Errorf("discard: %v", err)
			}
		})
		all.Wait()
		end, err := l.reader.ParkedMessage(t.Context(), l.tenant.ID, p.ParkedMessage.ID)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.reader.FindRefund(t.Context(), l.tenant.ID, id)
		if found := err == nil; found != (end.DoneHow == "accepted") {
			t.Errorf("round %d: closed as %q, refund found: %v", i, end.DoneHow, found)
		}
	}
}

// waker returns the Waker of the fixture.
func (l *fixture) waker() bridge.Waker {
	return bridge.Waker{ParkedMessages: l.store, Door: l.door, Log: slog.New(slog.DiscardHandler)}
}

// A message that a newer version cannot decode any more stays parked alone: every other message that waits for the payment is decided.
func TestOneUndecodableWaitingMessageDoesNotStopTheOthers(t *testing.T) {
	l := newFixture(t)
	for i := range 102 {
		id := fmt.Sprint(i)
		if o := l.accept(event("e"+id, "rf_"+id, "pay_1", 1)); o.Verdict != intake.Waiting {
			t.Fatalf("%+v", o)
		}
	}
	if _, err := l.store.Pool().Exec(t.Context(), `UPDATE parked SET body = 'no event' WHERE event_id IN ('e0', 'e50')`); err != nil {
		t.Fatal(err)
	}
	l.captured("pay_1", "cap_1", 200)
	if err := l.waker().WakePayment(t.Context(), l.tenant.ID, "pay_1"); err != nil {
		t.Fatal(err)
	}
	var decided, counted int
	if err := l.store.Pool().QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE done_how = 'accepted'), count(*) FILTER (WHERE done_at IS NULL AND tries = 2)
		FROM parked`).Scan(&decided, &counted); err != nil {
		t.Fatal(err)
	}
	if decided != 100 || counted != 2 {
		t.Errorf("%d messages accepted and %d parked with another try counted, want 100 and 2", decided, counted)
	}
}

// A refund that waits for its payment goes on waiting while captures follow: the first capture alone is too small.
func TestAWaitingRefundWaitsForEnoughCaptures(t *testing.T) {
	l := newFixture(t)
	body := event("e1", "rf_1", "pay_1", 300)
	if o := l.accept(body); o.Verdict != intake.Waiting {
		t.Fatalf("%+v", o)
	}
	l.captured("pay_1", "cap_1", 200)
	if err := l.waker().WakePayment(t.Context(), l.tenant.ID, "pay_1"); err != nil {
		t.Fatal(err)
	}
	if p := l.onlyParked(); p.WakePayment != "pay_1" || p.Reason != intake.ParkedWaiting {
		t.Fatalf("%+v, want it waiting for more captures", p)
	}
	if o := l.accept(event("e2", "rf_1", "pay_1", 300)); o.Verdict != intake.Waiting || o.Code != refund.CodeAmountExceeds {
		t.Fatalf("%+v, want the same request in another event to wait, too", o)
	}
	l.captured("pay_1", "cap_2", 500)
	if err := l.waker().WakePayment(t.Context(), l.tenant.ID, "pay_1"); err != nil {
		t.Fatal(err)
	}
	if r, err := l.reader.FindRefund(t.Context(), l.tenant.ID, "rf_1"); err != nil || r.Amount != 300 {
		t.Errorf("%+v %v, want the refund", r, err)
	}
	if open, err := l.reader.ListParked(t.Context(), l.tenant.ID, intake.ParkedFilter{Limit: 10}); err != nil || len(open) != 0 {
		t.Errorf("%d messages still wait (%v)", len(open), err)
	}
}

// A person who tries a waiting message again gets the refusal, since nobody knows whether another capture will follow.
func TestARedriveOfAMessageThatWaitsForCapturesIsRefused(t *testing.T) {
	l := newFixture(t)
	l.captured("pay_1", "cap_1", 200)
	if o := l.accept(event("e1", "rf_1", "pay_1", 300)); o.Verdict != intake.Waiting {
		t.Fatalf("%+v", o)
	}
	again, err := l.redriver.Redrive(t.Context(), l.tenant.ID, l.onlyParked().ParkedMessage.ID, "actor:maria")
	if err != nil || again.Outcome.Verdict != intake.Refused || again.Outcome.Code != refund.CodeAmountExceeds {
		t.Errorf("%+v %v, want the refusal", again, err)
	}
}
