package telemetry

import "github.com/prometheus/client_golang/prometheus"

// promiseMetrics are what the continuous check of the promises found, and whether sending is held.
type promiseMetrics struct {
	violations, excess *prometheus.GaugeVec
	most, held         prometheus.Gauge
}

// SetPromises replaces what the continuous check found: violations by promise, the most effects that stand for one refund, and the
// excess in minor units by currency.
func (m *Metrics) SetPromises(violations map[string]int64, mostEffects int64, excess map[string]int64) {
	for promise, n := range violations {
		m.promises.violations.WithLabelValues(promise).Set(float64(n))
	}
	m.promises.most.Set(float64(mostEffects))
	m.promises.excess.Reset()
	for currency, n := range excess {
		m.promises.excess.WithLabelValues(currency).Set(float64(n))
	}
}

// SendingHeld tells whether an epoch holds all sending.
func (m *Metrics) SendingHeld(held bool) {
	v := 0.0
	if held {
		v = 1
	}
	m.promises.held.Set(v)
}
