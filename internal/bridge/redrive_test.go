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

// lot is a parking lot in a real database with a door in front of it.
type lot struct {
	*testing.T
	store  *store.Store
	reader *read.Reader
	door   *intake.Door
	tenant refund.Tenant
	drive  bridge.Redriver
}

// database is what a Redriver uses of it.
type database struct {
	*store.Store
	*read.Reader
}

// discard settles a parked message and reads it back.
func (l *lot) discard(tenant refund.TenantID, id refund.RID, by string) (intake.ParkedView, error) {
	if err := l.store.Discard(l.Context(), tenant, id, by); err != nil {
		return intake.ParkedView{}, err
	}
	return l.reader.ParkedMessage(l.Context(), tenant, id)
}

type demoAccount struct{}

func (demoAccount) Account(name string, _ refund.TenantID) (refund.Contract, bool, bool) {
	return refundtest.Contract(), name == "demo", true
}

func newLot(t *testing.T) *lot {
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
	l := &lot{T: t, store: s, reader: read.New(s.Pool(), demoAccount{}), door: intake.NewDoor(intake.DoorConfig{Accepter: s, NewRID: pg.NewRID}),
		tenant: row.Tenant()}
	t.Cleanup(l.door.Stop)
	l.drive = bridge.Redriver{ParkedMessages: database{s, l.reader}, Door: l.door, NewRID: pg.NewRID, Log: slog.New(slog.DiscardHandler)}
	return l
}

// event gives a message body; amount 0 leaves the amount out.
func event(id, refundID, payment string, amount int) []byte {
	return fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"/shop","type":"refund.requested","tenantid":"demo","data":{"refundId":%q,"orderId":"ord_1","paymentId":%q,"amount":%d,"currency":"USD"}}`, id, refundID, payment, amount)
}

// bring takes a message through the door as a bridge does.
func (l *lot) bring(body []byte) intake.Outcome {
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

// pay makes a payment known, or tells a new sum of it.
func (l *lot) pay(id, capture string, amount int) {
	l.Helper()
	body := fmt.Appendf(nil, `{"specversion":"1.0","id":"evt-%[1]s-%[2]s","source":"/shop","type":"payment.captured","tenantid":"demo","data":{"paymentId":%[1]q,"captureId":%[2]q,"orderId":"ord_1","amount":%[3]d,"currency":"USD","channelAccount":"demo"}}`, id, capture, amount)
	if o := l.bring(body); o.Verdict != intake.Taken {
		l.Fatalf("capture: %+v", o)
	}
}

func (l *lot) only() intake.ParkedView {
	l.Helper()
	open, err := l.reader.ListParked(l.Context(), l.tenant.ID, intake.ParkedFilter{Limit: 10})
	if err != nil || len(open) != 1 {
		l.Fatalf("%d parked, %v; want one", len(open), err)
	}
	return open[0]
}

func TestRedriveOfARefusal(t *testing.T) {
	l := newLot(t)
	l.pay("pay_1", "cap_1", 50)
	body := event("e1", "rf_1", "pay_1", 60)
	if o := l.bring(body); o.Code != refund.CodeAmountExceeds {
		t.Fatalf("%+v, want a refusal", o)
	}
	p := l.only()
	again, err := l.drive.Redrive(t.Context(), l.tenant.ID, p.ParkedMessage.ID, "actor:maria")
	if err != nil || again.Outcome.Verdict != intake.Refused || again.Outcome.Replayed || !again.Parked.DoneAt.IsZero() {
		t.Fatalf("%+v %v: nothing has changed, so it is refused anew and stays", again, err)
	}
	l.pay("pay_1", "cap_2", 50)
	if o := l.bring(body); o.Verdict != intake.Refused || !o.Replayed {
		t.Fatalf("%+v: the caller has acted on the no, a redelivery is never re-evaluated", o)
	}
	done, err := l.drive.Redrive(t.Context(), l.tenant.ID, p.ParkedMessage.ID, "actor:maria")
	if err != nil || done.Outcome.Verdict != intake.Taken || done.Parked.DoneHow != "accepted" || done.Parked.DoneBy != "actor:maria" || done.Batch.IsZero() {
		t.Fatalf("%+v %v, want accepted, settled by the actor and marked", done, err)
	}
	if o := l.bring(body); o.Verdict != intake.Replayed || o.Refund == nil || o.Refund.RefundID != "rf_1" {
		t.Errorf("%+v: the event's receipt says accepted from now on", o)
	}
	told, err := l.drive.Redrive(t.Context(), l.tenant.ID, p.ParkedMessage.ID, "actor:maria")
	if err != nil || told.Tried {
		t.Errorf("%+v %v: a repeat tells the row and tries nothing", told, err)
	}
	m, err := l.reader.Messages(t.Context(), l.tenant.ID, "orders", "e1", "")
	if err != nil || len(m) != 1 || m[0].Decision == nil || m[0].Decision.Outcome != intake.Taken || m[0].RefundID != "rf_1" {
		t.Errorf("%+v %v, want one message whose decision is the new one", m, err)
	}
}

func TestRedriveNeverTriesAConflict(t *testing.T) {
	l := newLot(t)
	l.pay("pay_1", "cap_1", 100)
	l.bring(event("e1", "rf_1", "pay_1", 60))
	if o := l.bring(event("e1", "rf_1", "pay_1", 61)); o.Verdict != intake.Conflict {
		t.Fatalf("%+v", o)
	}
	p := l.only()
	if _, err := l.drive.Redrive(t.Context(), l.tenant.ID, p.ParkedMessage.ID, "actor:maria"); !errors.Is(err, bridge.ErrNotRedrivable) {
		t.Errorf("%v, want that a conflict is not tried again", err)
	}
	gone, err := l.discard(l.tenant.ID, p.ParkedMessage.ID, "actor:maria")
	if err != nil || gone.DoneHow != "discarded" || gone.DoneBy != "actor:maria" {
		t.Fatalf("%+v %v", gone, err)
	}
	twice, err := l.discard(l.tenant.ID, p.ParkedMessage.ID, "actor:john")
	if err != nil || twice.DoneBy != "actor:maria" || !twice.DoneAt.Equal(gone.DoneAt) {
		t.Errorf("%+v %v: the first discard stands", twice, err)
	}
	if _, err := l.discard(l.tenant.ID+1, p.ParkedMessage.ID, "actor:eve"); !errors.Is(err, refund.ErrNotFound) {
		t.Errorf("%v: another tenant finds nothing", err)
	}
}

func TestRedriveOfWhatCouldNotBeRead(t *testing.T) {
	l := newLot(t)
	park := func(place string, body []byte) refund.RID {
		id, _, err := l.store.ParkBeforeRetry(t.Context(), l.tenant.ID, intake.EventID{Consumer: "orders"}, bridge.ParkUndecodable,
			intake.Park{Position: place, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	junk := park("S/1", []byte("junk"))
	still, err := l.drive.Redrive(t.Context(), l.tenant.ID, junk, "actor:maria")
	if err != nil || still.Fault == nil || still.Parked.Tries != 2 || !still.Parked.DoneAt.IsZero() {
		t.Errorf("%+v %v, want that it still cannot be read, counted and parked", still, err)
	}
	// An older program could not read this one; this program can. Its payment is not known yet.
	readable := park("S/2", event("e2", "rf_2", "pay_2", 10))
	waits, err := l.drive.Redrive(t.Context(), l.tenant.ID, readable, "actor:maria")
	if err != nil || waits.Outcome.Verdict != intake.Waiting || waits.Parked.WakePayment != "pay_2" || waits.Parked.Reason != intake.ParkedWaiting {
		t.Fatalf("%+v %v, want that it waits for its payment", waits, err)
	}
	l.pay("pay_2", "cap_1", 100)
	waker := bridge.Waker{ParkedMessages: l.store, Door: l.door, Log: slog.New(slog.DiscardHandler)}
	if err := waker.WakePayment(t.Context(), l.tenant.ID, "pay_2"); err != nil {
		t.Fatal(err)
	}
	if p, err := l.reader.ParkedMessage(t.Context(), l.tenant.ID, readable); err != nil || p.DoneHow != "accepted" || p.DoneBy != "system:wake" {
		t.Errorf("%+v %v, want accepted by the wake", p, err)
	}
}

// Many at once, and a discard between them: one refund or none, never both answers.
func TestRedriveAndDiscardRace(t *testing.T) {
	l := newLot(t)
	for i := range 10 {
		id, payment := fmt.Sprintf("rf_%d", i), fmt.Sprintf("pay_%d", i)
		l.pay(payment, "cap_1", 10)
		l.bring(event("e"+id, id, payment, 20))
		p := l.only()
		l.pay(payment, "cap_2", 10)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := l.drive.Redrive(t.Context(), l.tenant.ID, p.ParkedMessage.ID, "actor:maria"); err != nil && !errors.Is(err, refund.ErrBusy) {
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
			t.Errorf("round %d: settled as %q, refund found: %v", i, end.DoneHow, found)
		}
	}
}
