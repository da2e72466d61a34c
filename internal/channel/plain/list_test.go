package plain_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/simulator"
)

// pages serves a list of n refunds in pages of size lines. spoil changes the body of a page, counted from 1.
func pages(t *testing.T, n, size int, spoil func(page int, body string) string) (address string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		from, _ := strconv.Atoi(r.URL.Query().Get("after"))
		var lines []string
		for i := from; i < min(n, from+size); i++ {
			lines = append(lines, fmt.Sprintf(`{"number":"N%d","channelRefundId":"re_%d","paymentReference":"ch_77","status":"succeeded","amount":5,"currency":"USD"}`, i, i))
		}
		next := ""
		if from+size < n {
			next = fmt.Sprintf(`,"next":"%d"`, from+size)
		}
		body := fmt.Sprintf(`{"refunds":[%s],"complete":true%s}`, strings.Join(lines, ","), next)
		if spoil != nil {
			body = spoil(from/size+1, body)
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func listOf(number string) refund.Call {
	return refund.Call{Number: number, RefundID: "rf", Account: "shop", PaymentReference: "ch_77", Amount: 5, Currency: "USD"}
}

func TestAListOfFiveThousandLinesIsReadPageByPage(t *testing.T) {
	t.Parallel()
	address, requests := pages(t, 5000, 500, nil)
	c := newClient(t, address, refund.CodeTerms{})
	for number, want := range map[string]refund.FactKind{"N4999": refund.Succeeded, "N0": refund.Succeeded, "nobody's": refund.NotFound} {
		requests.Store(0)
		lines, complete, a := c.List(attempt(t), listOf(number))
		if len(lines) != 5000 || !complete || a.Kind != want || requests.Load() != 10 {
			t.Errorf("%s: %d lines, complete %v, %s (%s) in %d requests, want 5000 lines of a complete list in 10", number, len(lines), complete, a.Kind, a.Rule, requests.Load())
		}
	}
}

// A page that is missing proves no absence; what the other pages say stands.
func TestAListWithoutOneOfItsPagesProvesNoAbsence(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(page int, body string) string{
		"a page with two readings": func(page int, body string) string {
			if page == 2 {
				return strings.Replace(body, `"complete":true`, `"complete":true,"COMPLETE":true`, 1)
			}
			return body
		},
		"a page that is incomplete": func(page int, body string) string {
			if page == 2 {
				return strings.Replace(body, `"complete":true`, `"complete":false`, 1)
			}
			return body
		},
		"pages in a circle": func(page int, body string) string {
			if page > 1 {
				return strings.Replace(body, `"next":"4"`, `"next":"2"`, 1)
			}
			return body
		},
		"a line that cannot be used": func(page int, body string) string {
			return strings.Replace(body, `"channelRefundId":"re_3",`, "", 1)
		},
	} {
		address, requests := pages(t, 6, 2, spoil)
		c := newClient(t, address, refund.CodeTerms{})
		lines, complete, a := c.List(attempt(t), listOf("nobody's"))
		if complete || a.Kind != refund.Unknown || a.Rule == "" || len(a.Evidence) == 0 || len(lines) < 2 || requests.Load() > 3 {
			t.Errorf("%s: %d lines, complete %v, %s (%s), %d requests", name, len(lines), complete, a.Kind, a.Rule, requests.Load())
		}
		if _, complete, a = c.List(attempt(t), listOf("N0")); complete || a.Kind != refund.Succeeded || a.ChannelRefundID != "re_0" {
			t.Errorf("%s: %s of the number on the first page, complete %v", name, a.Kind, complete)
		}
	}
}

func TestAListWithoutAnEndIsGivenUp(t *testing.T) {
	t.Parallel()
	address, requests := pages(t, 1<<30, 1, nil)
	lines, complete, a := newClient(t, address, refund.CodeTerms{}).List(attempt(t), listOf("nobody's"))
	if complete || a.Kind != refund.Unknown || a.Rule != "list.too-long" || len(lines) != 100 || requests.Load() != 100 {
		t.Errorf("%d lines, complete %v, %s (%s), %d requests", len(lines), complete, a.Kind, a.Rule, requests.Load())
	}
}

func TestTheSimulatorListsInPages(t *testing.T) {
	t.Parallel()
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Accounts: map[string]simulator.Account{"shop": {Profile: "list-and-match", Secret: secret}}, ListPage: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Close() })
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			requests.Add(1)
		}
		sim.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := newClient(t, server.URL, refund.CodeTerms{})
	for i := range 4 {
		if a := c.Refund(attempt(t), listOf(fmt.Sprint("N", i))); a.Kind != refund.Succeeded {
			t.Fatalf("%s %s", a.Kind, a.Evidence)
		}
	}
	lines, complete, a := c.List(attempt(t), listOf("N3"))
	if len(lines) != 4 || !complete || a.Kind != refund.Succeeded || requests.Load() != 2 {
		t.Errorf("%d lines, complete %v, %s, %d requests, want 4 lines in 2", len(lines), complete, a.Kind, requests.Load())
	}
}
