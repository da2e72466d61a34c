package httpapi_test

import (
	"context"
	"sync"
	"time"

	"github.com/refundry/refundry/internal/access"
	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// fakeBackend implements the interfaces of the API: it records calls and returns the
// values that the test sets. The real ones are tested with their database.
type fakeBackend struct {
	mu       sync.Mutex
	accepted []intake.Intake
	poison   []intake.Park
	touched  []string // names of calls that change something
	lookups  int
	finds    int

	accept   func([]intake.Intake) ([]intake.Outcome, error)
	refunds  map[string]refund.Refund
	list     func(httpapi.RefundQuery) []refund.Refund
	query    httpapi.RefundQuery
	timeline httpapi.Timeline
	payment  httpapi.PaymentView
	put      func(intake.PaymentSpec) (refund.Payment, bool, error)
	act      func(refundID string) (refund.Refund, error)
	keys     map[string]access.APIKeyRecord
	keyErr   error
	parkErr  error
	panics   bool

	messages []intake.Message
	asked    string // of the last Messages: consumer, id, source
	found    intake.MessageQuery
	parked   []intake.ParkedView
	sought   intake.ParkedFilter
	redrive  func(id refund.RID, actor string) (intake.Redriven, error)
}

func (w *fakeBackend) Accept(_ context.Context, g []intake.Intake) ([]intake.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accepted = append(w.accepted, g...)
	w.touched = append(w.touched, "accept")
	if w.panics {
		panic("a bug that mentions rfk_test_secret")
	}
	if w.accept != nil {
		return w.accept(g)
	}
	out := make([]intake.Outcome, len(g))
	for i, in := range g {
		out[i] = intake.Outcome{Verdict: intake.Taken}
		if in.Refund != nil {
			r := sampleRefund(in.Refund.RefundID)
			out[i].Refund = &r
		}
	}
	return out, nil
}

func (w *fakeBackend) FindRefund(_ context.Context, tenant refund.TenantID, id string) (refund.Refund, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finds++
	r, ok := w.refunds[id]
	if !ok || r.Tenant != tenant {
		return refund.Refund{}, refund.ErrNotFound
	}
	return r, nil
}

func (w *fakeBackend) set(r refund.Refund) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refunds[r.RefundID] = r
}

func (w *fakeBackend) ListRefunds(_ context.Context, _ refund.TenantID, q httpapi.RefundQuery) ([]refund.Refund, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.query = q
	if w.list == nil {
		return nil, nil
	}
	return w.list(q), nil
}

func (w *fakeBackend) Timeline(_ context.Context, _ refund.TenantID, id string) (httpapi.Timeline, error) {
	if w.timeline.Refund.RefundID != id {
		return httpapi.Timeline{}, refund.ErrNotFound
	}
	return w.timeline, nil
}

func (w *fakeBackend) doAct(name, id string) (refund.Refund, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched = append(w.touched, name)
	if w.act == nil {
		return refund.Refund{}, refund.ErrNotFound
	}
	return w.act(id)
}

func (w *fakeBackend) Cancel(_ context.Context, _ refund.TenantID, id, _ string) (refund.Refund, error) {
	return w.doAct("cancel", id)
}

func (w *fakeBackend) Check(_ context.Context, _ refund.TenantID, id, _ string) (r refund.Refund, learned bool, err error) {
	r, err = w.doAct("check", id)
	return r, r.State == refund.StateSuccess, err
}

func (w *fakeBackend) PutPayment(_ context.Context, _ refund.Tenant, id string, spec intake.PaymentSpec, _ string) (refund.Payment, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched = append(w.touched, "put")
	if w.put != nil {
		return w.put(spec)
	}
	return refund.Payment{PaymentID: id, OrderID: spec.OrderID, Currency: spec.Currency, Account: spec.Account, Reference: "ch_77",
		KnownBy: refund.BySnapshot, Captured: spec.Amount, CreatedAt: epoch}, true, nil
}

func (w *fakeBackend) FindPayment(_ context.Context, tenant refund.TenantID, id string) (httpapi.PaymentView, error) {
	if w.payment.Payment.PaymentID != id || w.payment.Payment.Tenant != tenant {
		return httpapi.PaymentView{}, refund.ErrNotFound
	}
	return w.payment, nil
}

func (w *fakeBackend) ParkAll(_ context.Context, rows []intake.ParkedRow) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.parkErr != nil {
		return w.parkErr
	}
	for _, r := range rows {
		w.poison = append(w.poison, r.Park)
	}
	w.touched = append(w.touched, "park")
	return nil
}

func (w *fakeBackend) Lookup(_ context.Context, prefix string) (access.APIKeyRecord, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups++
	if w.keyErr != nil {
		return access.APIKeyRecord{}, w.keyErr
	}
	k, ok := w.keys[prefix]
	if !ok {
		return access.APIKeyRecord{}, refund.ErrNotFound
	}
	return k, nil
}

var epoch = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// API keys of the tests.
const (
	writerKey      = "rfk_test_Writer01_" + "0123456789012345678901234567890123456789012"
	readerKey      = "rfk_test_Reader01_" + "1123456789012345678901234567890123456789012"
	closedKey      = "rfk_test_Closed01_" + "2123456789012345678901234567890123456789012"
	otherTenantKey = "rfk_test_Strayy01_" + "3123456789012345678901234567890123456789012"
)

// sampleRefund is a refund as the store returns it.
func sampleRefund(id string) refund.Refund {
	p := refund.Params{RefundID: id, OrderID: "ord_77", PaymentID: "pay_77", Amount: 1250, Currency: "USD"}
	return refund.Refund{RefundRef: refund.RefundRef{Tenant: 1, RID: refund.RID{15: 1}}, Params: p, Account: "demo", Digest: p.Digest(),
		State: refund.StatePending, PendingReason: refund.PendingQueued, NextActionAt: epoch, JournalSeq: 1, CreatedAt: epoch, UpdatedAt: epoch}
}

func (w *fakeBackend) ListMessages(_ context.Context, _ refund.TenantID, q intake.MessageQuery) ([]intake.Message, error) {
	w.found = q
	return w.messages[:min(q.Limit, len(w.messages))], nil
}

func (w *fakeBackend) Messages(_ context.Context, tenant refund.TenantID, consumer, eventID, source string) ([]intake.Message, error) {
	w.asked = consumer + " " + eventID + " " + source
	if tenant != 1 || len(w.messages) == 0 {
		return nil, nil
	}
	return w.messages[:1], nil
}

func (w *fakeBackend) ListParked(_ context.Context, _ refund.TenantID, q intake.ParkedFilter) ([]intake.ParkedView, error) {
	w.sought = q
	return w.parked[:min(q.Limit, len(w.parked))], nil
}

func (w *fakeBackend) ParkedMessage(_ context.Context, tenant refund.TenantID, id refund.RID) (intake.ParkedView, error) {
	for _, p := range w.parked {
		if p.ParkedMessage.ID == id && tenant == 1 {
			return p, nil
		}
	}
	return intake.ParkedView{}, refund.ErrNotFound
}

func (w *fakeBackend) Redrive(ctx context.Context, tenant refund.TenantID, id refund.RID, actor string) (intake.Redriven, error) {
	if _, err := w.ParkedMessage(ctx, tenant, id); err != nil {
		return intake.Redriven{}, err
	}
	return w.redrive(id, actor)
}

func (w *fakeBackend) Discard(ctx context.Context, tenant refund.TenantID, id refund.RID, actor string) (intake.ParkedView, error) {
	p, err := w.ParkedMessage(ctx, tenant, id)
	p.DoneAt, p.DoneHow, p.DoneBy = epoch, "discarded", actor
	return p, err
}
