package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/http/badrequesttest"
	"github.com/refundry/refundry/test/e2e/harness"
)

// TestStrangersLeaveNoTrace sends bad requests, incomplete ones, and requests of another tenant to a real server. They
// leave no row.
func TestStrangersLeaveNoTrace(t *testing.T) {
	t.Parallel()
	ctx := bounded(t, 3*time.Minute)
	dev := harness.StartDev(t)
	db := dev.DB()
	reader := harness.AddKey(t, dev.Info().DatabaseURL, "demo", "reader", "refunds:read")
	before := rows(ctx, db)
	untouched := func(t *testing.T) {
		t.Helper()
		if after := rows(ctx, db); after != before {
			t.Errorf("rows before and after:\n%s\n%s", before, after)
		}
	}
	if n := len(badrequesttest.Cases()); n < 60 {
		t.Errorf("%d bad requests, want at least 60", n)
	}
	t.Run("bad requests", func(t *testing.T) {
		badrequesttest.Run(t, badrequesttest.Target{BaseURL: dev.Info().API, Client: dev.ClientFor(t).HTTP(), WriterKey: dev.Info().APIKey,
			ReaderKey: reader, Untouched: untouched})
	})
	t.Run("senders that never finish", func(t *testing.T) {
		addr, key := strings.TrimPrefix(dev.Info().API, "http://"), dev.Info().APIKey
		t.Run("all", func(t *testing.T) {
			for _, c := range slowSenders(key) {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.check(t, trickle(ctx, t, addr, c.begin))
				})
			}
		})
		untouched(t)
	})
	t.Run("another tenant", func(t *testing.T) { anotherTenant(ctx, t, dev) })
}

// tables are those that a request could write to.
var tables = []string{"payments", "captures", "refund_keys", "refunds", "receipts", "conflicts", "dispatches", "attempts", "effects", "postings", "journal",
	"cases", "decisions", "notices", "deliveries", "parked"}

// rows counts the rows of these tables.
func rows(ctx context.Context, db *harness.DB) string {
	parts := []string{`'jobs ' || (SELECT count(*) FROM river_job WHERE kind <> 'maintenance')`}
	for _, table := range tables {
		parts = append(parts, fmt.Sprintf(`'%s ' || (SELECT count(*) FROM %s)`, table, table))
	}
	return db.Text(ctx, "SELECT concat_ws(', ', "+strings.Join(parts, ", ")+")")
}

// slowSender is a request that is sent very slowly.
type slowSender struct {
	name, begin string
	check       func(t *testing.T, answer string)
}

func slowSenders(key string) []slowSender {
	typed := func(t *testing.T, answer string) {
		t.Helper()
		if !strings.HasPrefix(answer, "HTTP/1.1 408 ") || !strings.Contains(answer, "application/problem+json") || !strings.Contains(answer, `"body-incomplete"`) {
			t.Errorf("answer %q, want a problem of 408", answer)
		}
	}
	body := func(line, media string) string {
		return line + " HTTP/1.1\r\nHost: refundry\r\nAuthorization: Bearer " + key + "\r\nIdempotency-Key: slow\r\nContent-Type: " + media + "\r\nContent-Length: 200\r\n\r\n"
	}
	return []slowSender{
		{"the body of a refund", body("POST /v1/refunds", "application/json"), typed},
		{"the body of a payment", body("PUT /v1/payments/slow", "application/json"), typed},
		{"the body of events", body("POST /v1/events", "application/cloudevents+json"), typed},
		{"the header", "POST /v1/refunds HTTP/1.1\r\nHost: refundry\r\nX-Slow: ", func(t *testing.T, answer string) {
			t.Helper()
			if answer != "" && !strings.HasPrefix(answer, "HTTP/1.1 4") {
				t.Errorf("answer %q, want none or a 4xx", answer)
			}
		}},
	}
}

// trickle sends the beginning and then single bytes until the server closes the connection, and returns the answer.
func trickle(ctx context.Context, t *testing.T, addr, begin string) string {
	t.Helper()
	const limit = 20 * time.Second
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, err := conn.Write([]byte(begin))
		drip := time.NewTicker(200 * time.Millisecond)
		defer drip.Stop()
		for err == nil {
			select {
			case <-drip.C:
				_, err = conn.Write([]byte(" "))
			case <-stop:
				return
			}
		}
	}()
	began := time.Now()
	var answer strings.Builder
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		answer.WriteString(lines.Text() + "\n")
	}
	close(stop)
	<-sent
	if took := time.Since(began); took >= limit {
		t.Errorf("the server still waited after %s", took.Round(time.Second))
	}
	return answer.String()
}

// anotherTenant reads the resources of a tenant with the key of another one: the answers are those of resources that do not
// exist.
func anotherTenant(ctx context.Context, t *testing.T, dev *harness.Dev) {
	harness.AddTenant(t, dev.Info().DatabaseURL, "neighbour")
	api := dev.ClientFor(t)
	other := dev.ClientWith(harness.AddKey(t, dev.Info().DatabaseURL, "neighbour", "checkout", caller))
	api.Accept(ctx, request("mine", 100, 100))
	api.UntilState(ctx, "mine", "SUCCESS", 30*time.Second)
	before := api.Timeline(ctx, "mine")
	for _, c := range []struct{ method, mine, unknown string }{
		{http.MethodGet, "/v1/refunds/mine", "/v1/refunds/nobodys"},
		{http.MethodGet, "/v1/refunds/mine/timeline", "/v1/refunds/nobodys/timeline"},
		{http.MethodPost, "/v1/refunds/mine/cancel", "/v1/refunds/nobodys/cancel"},
		{http.MethodPost, "/v1/refunds/mine/check", "/v1/refunds/nobodys/check"},
		{http.MethodGet, "/v1/payments/pay-mine", "/v1/payments/nobodys"},
	} {
		a, _ := other.Send(ctx, c.method, c.mine, nil, nil)
		b, _ := other.Send(ctx, c.method, c.unknown, nil, nil)
		words := func(r harness.Response) string {
			return strings.ReplaceAll(string(r.Body), r.Header.Get("X-Request-Id"), "")
		}
		if a.Status != http.StatusNotFound || a.Status != b.Status || words(a) != words(b) {
			t.Errorf("%s %s: status %d, want what an unknown one gets (%d):\n%s\n%s", c.method, c.mine, a.Status, b.Status, a.Body, b.Body)
		}
		for name := range a.Header {
			if _, both := b.Header[name]; !both {
				t.Errorf("%s %s: only the existing one has the header %s", c.method, c.mine, name)
			}
		}
	}
	if res, _ := other.Send(ctx, http.MethodGet, "/v1/refunds", nil, nil); strings.Contains(string(res.Body), "mine") {
		t.Errorf("the neighbour's list has our refund: %s", res.Body)
	}
	// The neighbour can use the same names, but not our account.
	if res, _ := other.Post(ctx, "key-mine", request("mine", 999, 999)); res.Status != http.StatusUnprocessableEntity ||
		res.Problem(t).Code != "account-not-allowed" {
		t.Errorf("our account used by the neighbour: status %d: %s", res.Status, res.Body)
	}
	if after := api.Timeline(ctx, "mine"); len(after.Journal) != len(before.Journal) || len(after.Attempts) != len(before.Attempts) {
		t.Errorf("our refund has changed: %+v", after)
	}
}
