// Package e2e proves the promises of the service on the real program: with processes that are killed, a real PostgreSQL,
// and a channel that loses answers and records what it did.
package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// bounded returns the context of one test.
func bounded(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// request returns a refund of the payment of name, including the payment.
func request(name string, amount, captured int64) harness.Request {
	return partial(name, "pay-"+name, amount, captured)
}

// partial returns one of several refunds of a payment.
func partial(name, payment string, amount, captured int64) harness.Request {
	return harness.Request{RefundID: name, OrderID: "ord-" + payment, PaymentID: payment, Amount: amount, Currency: "USD",
		Payment: &harness.Snapshot{OrderID: "ord-" + payment, Amount: captured, Currency: "USD", ChannelAccount: "demo"}}
}

// on returns the request for another account.
func on(account string, r harness.Request) harness.Request {
	p := *r.Payment
	p.ChannelAccount = account
	r.Payment = &p
	return r
}

// onceEach fails the test unless every refund id has exactly one effect of its amount.
func onceEach(t *testing.T, effects []harness.Effect, want map[string]int64) {
	t.Helper()
	seen := map[string]int{}
	for _, e := range effects {
		seen[e.RefundID]++
		if amount, ours := want[e.RefundID]; !ours || amount != e.Amount {
			t.Errorf("the channel moved %d for %s, want %d (asked for: %t)", e.Amount, e.RefundID, amount, ours)
		}
	}
	for id := range want {
		if seen[id] != 1 {
			t.Errorf("%s: %d effects, want 1", id, seen[id])
		}
	}
}

// name returns a numbered name.
func name(prefix string, i int) string { return fmt.Sprintf("%s-%04d", prefix, i) }
