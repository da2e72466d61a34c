package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// Sizes of the stress test. The long run is stressIntakes = 400 (25,600 intakes).
const (
	stressCallers  = 64
	stressIntakes  = 100 // of each caller
	stressRefunds  = 400
	stressPayments = 40
	stressWorkers  = 4
)

// stressStore is a store under load, with the answers that callers got.
type stressStore struct {
	*testStore
	tenants []refund.Tenant
	doors   []*intake.Door
	known   atomic.Bool // the late payment has been told

	mu   sync.Mutex
	told []stressAnswer
}

type stressAnswer struct {
	in     intake.Intake
	out    intake.Outcome
	err    error
	poison bool
}

// TestAcceptUnderStress: callers of two replicas submit the same few refunds again and again, alone and in groups, with the right and with
// other amounts, under their own and under foreign event ids, with values that the database refuses. Meanwhile workers claim and finish,
// an operator locks payment rows, and a payment becomes known late. Afterwards every answer must agree with the stored rows, and the
// invariants must be 0.
func TestAcceptUnderStress(t *testing.T) {
	w := newStressStore(t)
	ctx, stop := context.WithCancel(t.Context())
	var around sync.WaitGroup
	around.Go(func() { w.operator(ctx, t) })
	for i := range stressWorkers {
		around.Go(func() { w.worker(ctx, t, i) })
	}
	var callers sync.WaitGroup
	var done atomic.Int64
	for c := range stressCallers {
		callers.Go(func() { w.caller(t, c, &done) })
	}
	callers.Wait()
	stop()
	around.Wait()
	w.judge(t)
	w.wantNoViolations(t)
	if n := w.count(t, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

func newStressStore(t *testing.T) *stressStore {
	b := newTestStore(t)
	w := &stressStore{testStore: b, tenants: []refund.Tenant{b.tenant, b.addTenant(t, "two"), b.addTenant(t, "three")}, doors: b.doors(t, 2)}
	for _, tenant := range w.tenants {
		for p := range stressPayments {
			if p%8 == 7 {
				continue // comes inline
			}
			spec := intake.PaymentSpec{OrderID: "ord_1", Amount: stressCaptured, Currency: "USD", Account: "demo"}
			if _, _, err := w.PutPayment(t.Context(), tenant, fmt.Sprintf("pay_%d", p), spec, "actor:test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

const stressCaptured = 300 // less than the refunds of a payment ask for: the last ones are refused

// caller submits its intakes, one by one or in small groups.
func (w *stressStore) caller(t *testing.T, c int, done *atomic.Int64) {
	rnd := rand.New(rand.NewPCG(uint64(c), 1)) // #nosec G404 -- a test that repeats itself
	door := w.doors[c%2]
	for n := 0; n < stressIntakes; {
		size := 1
		if c%4 == 0 {
			size = min(1+rnd.IntN(12), stressIntakes-n)
		}
		var g []intake.Intake
		for range size {
			g = append(g, w.intake(rnd))
		}
		results, err := door.AcceptEach(context.Background(), g)
		if err != nil {
			t.Errorf("caller %d: %v", c, err)
			return
		}
		w.mu.Lock()
		for i, r := range results {
			w.told = append(w.told, stressAnswer{in: g[i], out: r.Outcome, err: r.Err, poison: g[i].Refund != nil && g[i].Refund.Reason != ""})
		}
		w.mu.Unlock()
		n += size
		if total := done.Add(int64(size)); total > stressCallers*stressIntakes/2 && w.known.CompareAndSwap(false, true) {
			w.tellLatePayment(t)
		}
	}
}

func (w *stressStore) tellLatePayment(t *testing.T) {
	for _, tenant := range w.tenants {
		in := w.captured("late", "pay_late", "cap_1", stressCaptured)
		in.Tenant = tenant
		out, err := w.doors[0].Accept(context.Background(), []intake.Intake{in})
		if err != nil || out[0].Verdict != intake.Taken {
			t.Errorf("the late payment: %v %v", out, err)
		}
	}
}

// intake draws one of few refunds. Its number determines everything about it except the faults that make it a conflict.
func (w *stressStore) intake(rnd *rand.Rand) intake.Intake {
	k := rnd.IntN(stressRefunds)
	payment := k % stressPayments
	in := w.request(fmt.Sprintf("e%d-%d", k, rnd.IntN(3)), fmt.Sprintf("rf_%d", k), fmt.Sprintf("pay_%d", payment), 10+int64(k%70), nil)
	in.Tenant = w.tenants[rnd.IntN(len(w.tenants))]
	switch {
	case k%50 == 49:
		in.Refund.PaymentID = "pay_late"
	case payment%8 == 7:
		in.Refund.Payment = inlinePayment(stressCaptured)
	}
	if rnd.IntN(3) == 0 {
		in.Event.Consumer, in.Event.Source = "orders", "shop"
		in.Park = &intake.Park{Position: fmt.Sprintf("orders/%d", rnd.Int64()), Body: []byte("{}")}
	}
	switch rnd.IntN(20) {
	case 0:
		in.Refund.Amount++ // other parameters
	case 1:
		in.Event.ID = fmt.Sprintf("e%d-0", rnd.IntN(stressRefunds)) // another refund's event
	case 2:
		in.Event.ID = fmt.Sprintf("poison-%d", rnd.Int64())
		in.Refund.RefundID = fmt.Sprintf("poison_%d", rnd.Int64()&0xffff)
		in.Refund.Reason = "a zero byte \x00"
	}
	return in
}

// operator locks payment rows for 300 ms, as a person at a psql prompt may.
func (w *stressStore) operator(ctx context.Context, t *testing.T) {
	for i := 0; ctx.Err() == nil; i++ {
		tx, err := w.pool.Begin(ctx)
		if err != nil {
			return
		}
		_, err = tx.Exec(ctx, `SELECT FROM payments WHERE payment_id = $1 FOR UPDATE`, fmt.Sprintf("pay_%d", i%stressPayments))
		if err == nil {
			_, err = tx.Exec(ctx, `SELECT pg_sleep(0.3)`)
		}
		if err != nil && ctx.Err() == nil {
			t.Errorf("operator: %v", err)
		}
		_ = tx.Rollback(context.WithoutCancel(ctx))
	}
}

// worker claims refunds and enters answers of a channel that mostly succeeds.
func (w *stressStore) worker(ctx context.Context, t *testing.T, n int) {
	rnd := rand.New(rand.NewPCG(uint64(n), 2)) // #nosec G404 -- a test that repeats itself
	for ctx.Err() == nil {
		rows, err := w.pool.Query(ctx, `SELECT tenant_id, rid FROM refunds WHERE state = 'PENDING' AND next_action_at IS NOT NULL ORDER BY random() LIMIT 8`)
		if err != nil {
			return
		}
		var keys []refund.RefundRef
		for rows.Next() {
			var tenant int64
			var rid [16]byte
			if err := rows.Scan(&tenant, &rid); err == nil {
				keys = append(keys, refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid})
			}
		}
		rows.Close()
		for _, k := range keys {
			if err := w.step(ctx, k, rnd.IntN(4)); err != nil && ctx.Err() == nil {
				t.Errorf("worker: %v", err)
				return
			}
		}
		if len(keys) == 0 {
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond): // nothing to do yet
			}
		}
	}
}

// step is one claim and its answer. A refund that another worker owns is no error.
func (w *stressStore) step(ctx context.Context, k refund.RefundRef, luck int) error {
	contract := testContract()
	r, err := w.Load(ctx, k)
	if err != nil || r.State != refund.StatePending {
		return err
	}
	c, err := w.Claim(ctx, refund.Claim{RefundRef: k, State: r.State, Generation: r.Generation, JournalSeq: r.JournalSeq, Kind: refund.AttemptSend,
		Dispatch: r.DispatchNo,
		Contract: contract, Lease: 10 * time.Second, Margin: 2 * time.Second, SendWindow: 3 * time.Second, ClockMargin: refund.ClockMargin,
		RequestDigest: requestDigest})
	if errors.Is(err, refund.ErrNotOwner) {
		return nil
	}
	if err != nil {
		return err
	}
	answer := refund.Answer{Kind: refund.Succeeded, ChannelRefundID: "ch_" + k.RID.String(), Amount: r.Amount, Currency: r.Currency, Rule: "status"}
	if luck == 0 {
		answer = refund.Answer{Kind: refund.RefusedClean, Code: "declined", Rule: "code"}
	}
	for { // a row may be locked for as long as the operator likes
		_, err = w.Enter(ctx, k, refund.FactOf(c.Attempt, answer), contract)
		if !errors.Is(err, refund.ErrBusy) {
			return err
		}
	}
}
