package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Bridges count what the subscriptions of brokers do. It is what a bridge wants of its observer.
type Bridges struct {
	deliveries, parked, opened, ackFailures *prometheus.CounterVec
	duplicates                              *prometheus.CounterVec
	lag                                     *prometheus.GaugeVec
}

// Bridges returns what counts for bridges.
func (m *Metrics) Bridges() *Bridges { return &m.bridge }

// Delivered counts a delivery; duplicateCause "" = no replay.
func (b *Bridges) Delivered(consumer, outcome, duplicateCause string) {
	b.deliveries.WithLabelValues(consumer, outcome).Inc()
	if duplicateCause != "" {
		b.duplicates.WithLabelValues(consumer, duplicateCause).Inc()
	}
}

// Parked counts a message that came to the parking lot.
func (b *Bridges) Parked(consumer, reason string) {
	b.parked.WithLabelValues(consumer, reason).Inc()
}

// Opened counts an incarnation.
func (b *Bridges) Opened(consumer string) { b.opened.WithLabelValues(consumer).Inc() }

// AckFailed counts a failed acknowledgement.
func (b *Bridges) AckFailed(consumer string) {
	b.ackFailures.WithLabelValues(consumer).Inc()
}

// Lag tells how many messages wait at the broker; known = false takes the reading away.
func (b *Bridges) Lag(consumer string, messages int64, known bool) {
	if !known {
		b.lag.DeleteLabelValues(consumer)
		return
	}
	b.lag.WithLabelValues(consumer).Set(float64(messages))
}
