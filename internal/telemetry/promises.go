package telemetry

import "github.com/prometheus/client_golang/prometheus"

// promiseMetrics has the results of the continuous check, and whether sending is held.
type promiseMetrics struct {
	violations, excess *prometheus.GaugeVec
	most, held, leader prometheus.Gauge
}

// SetPromises sets the results of the continuous check: violations by promise, the largest number of standing effects of one refund,
// and the amounts refunded above what was captured, in minor units by currency. A process that does not lead the check has no results.
func (m *Metrics) SetPromises(leads bool, violations map[string]int64, mostEffects int64, excess map[string]int64) {
	m.promises.leader.Set(number(leads))
	m.promises.violations.Reset()
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
	m.promises.held.Set(number(held))
}

// number is 1 for true, else 0.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
