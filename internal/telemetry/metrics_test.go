package telemetry

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

func TestEveryDefinedMetricIsServed(t *testing.T) {
	m := New()
	m.Intake("rest", "TAKEN", "event", "idempotency-key-reused")
	m.Workers().Called("demo", refund.AttemptSend, refund.Succeeded, time.Second)
	m.Notice("demo", "forged")
	m.FactRefused("effects_ck")
	m.Workers().Swept(refund.Swept{TakenOver: 2, Overdue: 1, Decided: 1, Expired: 1})
	m.Workers().Kept(3)
	m.Workers().Lost()
	m.Workers().CredentialsDenied("demo", true)
	m.CommitUnknown()
	m.Bridges().Delivered("orders", "REPLAYED", "redelivery")
	m.Bridges().Parked("orders", "undecodable")
	m.Bridges().Opened("orders")
	m.Bridges().AckFailed("orders")
	m.Bridges().Lag("orders", 7, true)
	m.Accepted(time.Millisecond)
	m.Ended(refund.StateCanceled, time.Second)
	m.SetBacklog(Backlog{Refunds: map[string]int{"PENDING": 3}, Parked: map[string]int{"waiting": 1}, Cases: 1, Alarms: 2, Blocked: 1, Unread: map[string]int{"demo": 2}}, []string{"PENDING", "UNKNOWN"})
	m.SetPromises(true, map[string]int64{"P1": 0}, 1, map[string]int64{"USD": 0})
	m.SetBuild("v0.1.0", "0123abcd", "go1.27.3")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, d := range Definitions() {
		if !strings.Contains(w.Body.String(), "\n# TYPE refundry_"+d.Name+" "+string(d.Kind)+"\n") {
			t.Errorf("%s is defined but not served", d.Name)
		}
	}
	for _, line := range []string{`refundry_open_refunds{state="PENDING"} 3`, `refundry_open_refunds{state="UNKNOWN"} 0`, `refundry_unread_notices{account="demo"} 2`, `refundry_takeovers_total 2`, `refundry_answers_kept 3`, `refundry_answers_lost_total 1`,
		`refundry_account_alarm{account="demo",reason="credentials"} 1`, `refundry_parked_alarms 2`, `refundry_partitions_blocked 1`, `refundry_refund_duration_seconds_count{state="CANCELED"} 1`,
		`refundry_build_info{commit="0123abcd",go="go1.27.3",version="v0.1.0"} 1`, `refundry_channel_calls_total{account="demo",answer="SUCCEEDED",op="SEND"} 1`} {
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("missing line %q", line)
		}
	}
}

func TestMetricsPageIsCurrent(t *testing.T) {
	got, err := os.ReadFile("../../docs/metrics.md")
	if err != nil || string(got) != Markdown() {
		t.Errorf("docs/metrics.md differs from the definitions: run `go generate ./internal/telemetry` (%v)", err)
	}
}
