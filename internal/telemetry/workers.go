package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/refundry/refundry/internal/refund"
)

// Workers counts what the workers and the sweeper do. It implements jobs.Observer.
type Workers struct {
	calls                                *prometheus.CounterVec
	takeovers, overdue, applied, expired prometheus.Counter
	lost                                 prometheus.Counter
	kept                                 prometheus.Gauge
	accountAlarms                        *prometheus.GaugeVec
}

// Workers returns the counters of the workers.
func (m *Metrics) Workers() *Workers { return &m.workers }

// Called counts one call to a channel.
func (w *Workers) Called(account string, kind refund.AttemptKind, answer refund.FactKind, _ time.Duration) {
	w.calls.WithLabelValues(account, string(kind), string(answer)).Inc()
}

// Swept counts the results of one pass of the sweeper.
func (w *Workers) Swept(s refund.Swept) {
	w.takeovers.Add(float64(s.TakenOver))
	w.overdue.Add(float64(s.Overdue))
	w.applied.Add(float64(s.Decided))
	w.expired.Add(float64(s.Expired))
}

// Kept sets the number of answers that the process keeps because the database does not take them.
func (w *Workers) Kept(answers int) { w.kept.Set(float64(answers)) }

// Lost counts an answer that will not be stored.
func (w *Workers) Lost() { w.lost.Inc() }

// CredentialsDenied sets the alarm of an account.
func (w *Workers) CredentialsDenied(account string, denied bool) {
	w.accountAlarms.WithLabelValues(account, "credentials").Set(number(denied))
}
