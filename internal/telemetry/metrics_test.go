package telemetry

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func TestEveryMetricOfThePageIsServed(t *testing.T) {
	m := New()
	m.Intake("rest", "TAKEN", "event", "idempotency-key-reused")
	m.Call("demo", "SEND", "SUCCEEDED")
	m.Notice("demo", "forged")
	m.TakenOver(2)
	m.CommitUnknown()
	m.BridgeDelivered("orders", "REPLAYED", "redelivery")
	m.BridgeParked("orders", "undecodable")
	m.BridgeOpened("orders")
	m.BridgeAckFailed("orders")
	m.BridgeLag("orders", 7, true)
	m.Accepted(time.Millisecond)
	m.Final(time.Second)
	m.SetBacklog(Backlog{Refunds: map[string]int{"PENDING": 3}, Parked: map[string]int{"waiting": 1}, Cases: 1}, []string{"PENDING", "UNKNOWN"})
	m.SetPromises(map[string]int64{"P1": 0}, 1, map[string]int64{"USD": 0})
	m.SetBuild("v0.1.0", "0123abcd", "go1.27.3")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, d := range Definitions() {
		if !strings.Contains(w.Body.String(), "\n# TYPE refundry_"+d.Name+" "+string(d.Kind)+"\n") {
			t.Errorf("%s is on the page and not served", d.Name)
		}
	}
	for _, line := range []string{`refundry_open_refunds{state="PENDING"} 3`, `refundry_open_refunds{state="UNKNOWN"} 0`, `refundry_takeovers_total 2`,
		`refundry_build_info{commit="0123abcd",go="go1.27.3",version="v0.1.0"} 1`} {
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("missing line %q", line)
		}
	}
}

func TestMetricsPageIsCurrent(t *testing.T) {
	got, err := os.ReadFile("../../docs/metrics.md")
	if err != nil || string(got) != Markdown() {
		t.Errorf("docs/metrics.md is not what the definitions say; run `go generate ./internal/telemetry` (%v)", err)
	}
}
