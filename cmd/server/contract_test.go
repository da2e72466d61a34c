package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
)

// TestAnAccountsOwnLimitsRefuseRefunds: window, count, steps and currencies of the file bind the API.
func TestAnAccountsOwnLimitsRefuseRefunds(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	s := newRestoreSite(t, url)
	s.change = func(f *config.File) {
		a := f.Accounts[demoTenant]
		a.Contract.Window, a.Contract.MaxRefunds, a.Contract.MaxAmount = 24*time.Hour, 1, 5000
		a.Contract.Currencies, a.Contract.Step = []refund.Currency{"USD", "KWD"}, map[refund.Currency]int64{"KWD": 10}
		f.Accounts[demoTenant] = a
	}
	defer s.start(url, false)()
	ask := func(id, payment, currency string, amount int, paidAt time.Time) (int, any) {
		status, answer := s.post("/v1/refunds", "key-"+id, map[string]any{"refundId": id, "orderId": "ord_1", "paymentId": payment, "amount": amount,
			"currency": currency, "payment": map[string]any{"orderId": "ord_1", "amount": 100_000, "currency": currency, "channelAccount": demoTenant,
				"paidAt": paidAt.UTC().Format(time.RFC3339)}})
		return status, answer["code"]
	}
	now := time.Now().Add(-time.Minute)
	for _, c := range []struct {
		what, id, payment, currency string
		amount                      int
		paidAt                      time.Time
		status                      int
		code                        any
	}{
		{"a good one", "rf_1", "pay_1", "USD", 100, now, http.StatusAccepted, nil},
		{"the second of a payment that may have one", "rf_2", "pay_1", "USD", 100, now, http.StatusUnprocessableEntity, "refund-count-exceeded"},
		{"a payment of two days ago", "rf_3", "pay_3", "USD", 100, now.Add(-48 * time.Hour), http.StatusUnprocessableEntity, "refund-window-closed"},
		{"KWD 1.234 in steps of 0.010", "rf_4", "pay_4", "KWD", 1234, now, http.StatusUnprocessableEntity, "amount-not-expressible"},
		{"KWD 1.230 in steps of 0.010", "rf_5", "pay_5", "KWD", 1230, now, http.StatusAccepted, nil},
		{"a currency that is not listed", "rf_6", "pay_6", "EUR", 100, now, http.StatusUnprocessableEntity, "amount-not-expressible"},
		{"more than the highest amount", "rf_7", "pay_7", "USD", 5001, now, http.StatusUnprocessableEntity, "amount-not-expressible"},
	} {
		if status, code := ask(c.id, c.payment, c.currency, c.amount, c.paidAt); status != c.status || code != c.code {
			t.Errorf("%s: %d %v, want %d %v", c.what, status, code, c.status, c.code)
		}
	}
}
