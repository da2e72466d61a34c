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
