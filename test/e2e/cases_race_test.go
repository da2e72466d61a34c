package e2e

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// raceCases have many callers at the same time.
func raceCases() []oneCase {
	return []oneCase{
		{name: "100 refunds of 60 on a payment of 100, over REST and as events: one is accepted", run: hundredOf60On100}, // C1
		{name: "200 identical requests: one refund and 199 replays", run: race200Identical},
		{name: "200 requests for one refund id with two amounts: one of them wins", run: race200TwoAmounts},
	}
}

// together calls fn for 0 … n-1 at the same time and waits for all.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			fn(i)
		})
	}
	close(begin)
	wg.Wait()
}

func hundredOf60On100(ctx context.Context, t *testing.T, s site) {
	const callers = 100
	res, _ := s.api.Send(ctx, http.MethodPut, "/v1/payments/pay-c1", nil, partial("", "pay-c1", 1, 100).Payment)
	if res.Status >= 300 {
		t.Fatalf("PUT: status %d: %s", res.Status, res.Body)
	}
	got := make([]string, callers)
	together(callers, func(i int) {
		r := partial(name("c1", i), "pay-c1", 60, 100)
		r.Payment = nil
		if i%2 == 0 {
			v := s.api.Events(ctx, harness.NewEvent(r.RefundID, "refund.requested", r))[0]
			if got[i] = v.Outcome; v.Problem != nil {
				got[i] = v.Problem.Code
			}
			return
		}
		res, _ := s.api.Post(ctx, r.RefundID, r)
		if got[i] = "accepted"; res.Status != http.StatusAccepted {
			got[i] = res.Problem(t).Code
		}
	})
	counts, winner := map[string]int{}, ""
	for i, g := range got {
		if counts[g]++; g == "accepted" {
			winner = name("c1", i)
		}
	}
	if counts["accepted"] != 1 || counts["amount-exceeds-refundable"] != callers-1 {
		t.Fatalf("outcomes %v, want one accepted and %d refused for the amount", counts, callers-1)
	}
	s.paidOnce(ctx, t, winner, 1, 30*time.Second)
	s.payment(ctx, t, "pay-c1", 0, 60)
}

func race200Identical(ctx context.Context, t *testing.T, s site) {
	const callers = 200
	r := request("same", 100, 100)
	status := make([]int, callers)
	replayed := make([]bool, callers)
	together(callers, func(i int) {
		res, _ := s.api.Post(ctx, "same-key", r)
		status[i], replayed[i] = res.Status, res.Replayed()
	})
	accepted, replays := 0, 0
	for i := range callers {
		switch {
		case status[i] == http.StatusAccepted && !replayed[i]:
			accepted++
		case status[i] == http.StatusOK && replayed[i]:
			replays++
		}
	}
	if accepted != 1 || replays != callers-1 {
		t.Errorf("%d accepted and %d replays, want 1 and %d", accepted, replays, callers-1)
	}
	s.paidOnce(ctx, t, "same", 1, 30*time.Second)
	db := s.dev.DB()
	for what, sql := range map[string]string{
		"refunds":  `SELECT count(*) FROM refunds WHERE refund_id = 'same'`,
		"receipts": `SELECT count(*) FROM receipts WHERE event_id = 'same-key'`,
		"payments": `SELECT count(*) FROM payments WHERE payment_id = 'pay-same'`,
	} {
		if n := db.Int(ctx, sql); n != 1 {
			t.Errorf("%d %s, want 1", n, what)
		}
	}
}

func race200TwoAmounts(ctx context.Context, t *testing.T, s site) {
	const callers = 200
	status := make([]int, callers)
	together(callers, func(i int) {
		res, _ := s.api.Post(ctx, name("two-amounts", i), request("two", int64(40+10*(i%2)), 100))
		if status[i] = res.Status; res.Status == http.StatusConflict {
			if p := res.Problem(t); p.Code != "refund-parameters-conflict" || len(p.Fields) != 1 || p.Fields[0] != "amount" {
				t.Errorf("the loser got %+v, want the conflict to name the amount", p)
			}
		}
	})
	winner := s.api.Refund(ctx, "two").Amount
	accepted := 0
	for i, got := range status {
		mine := int64(40 + 10*(i%2))
		switch {
		case got == http.StatusAccepted && mine == winner:
			accepted++
		case got == http.StatusOK && mine == winner, got == http.StatusConflict && mine != winner:
		default:
			t.Errorf("amount %d got %d while %d has won", mine, got, winner)
		}
	}
	if accepted != 1 {
		t.Errorf("%d answers 202, want 1", accepted)
	}
	s.paidOnce(ctx, t, "two", 1, 30*time.Second)
	s.payment(ctx, t, "pay-two", 0, winner)
	if n := s.dev.DB().Int(ctx, `SELECT sum(times) FROM conflicts WHERE refund_id = 'two'`); n != callers/2 {
		t.Errorf("%d conflicts recorded, want %d: every loser", n, callers/2)
	}
}
