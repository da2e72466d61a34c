package telemetry

import "github.com/prometheus/client_golang/prometheus"

// promiseMetrics has the results of the continuous check, and whether sending is held.
type promiseMetrics struct {
	violations, excess *prometheus.GaugeVec
	most, held         prometheus.Gauge
}

// SetPromises sets the results of the continuous check: violations by promise, the largest number of standing effects of one refund,
// and the amounts refunded above what was captured, in minor units by currency.
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

// SendingHeld sets whether sending is held.
func (m *Metrics) SendingHeld(held bool) {
	v := 0.0
	if held {
		v = 1
	}
	m.promises.held.Set(v)
}
