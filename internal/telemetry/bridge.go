package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Bridges counts what bridges do. It implements the observer of a bridge.
type Bridges struct {
	deliveries, parked, opened, ackFailures *prometheus.CounterVec
	duplicates                              *prometheus.CounterVec
	lag                                     *prometheus.GaugeVec
}

// Bridges returns the counters of the bridges.
func (m *Metrics) Bridges() *Bridges { return &m.bridge }

// Delivered counts a delivery. duplicateCause is "" when it repeats nothing.
func (b *Bridges) Delivered(consumer, outcome, duplicateCause string) {
	b.deliveries.WithLabelValues(consumer, outcome).Inc()
	if duplicateCause != "" {
		b.duplicates.WithLabelValues(consumer, duplicateCause).Inc()
	}
}

// Parked counts a message that was parked.
func (b *Bridges) Parked(consumer, reason string) {
	b.parked.WithLabelValues(consumer, reason).Inc()
}

// Opened counts a subscription that was opened.
func (b *Bridges) Opened(consumer string) { b.opened.WithLabelValues(consumer).Inc() }

// AckFailed counts a group whose acknowledgement was not confirmed.
func (b *Bridges) AckFailed(consumer string) {
	b.ackFailures.WithLabelValues(consumer).Inc()
}

// Lag sets how many messages wait at the broker; known = false removes the value.
func (b *Bridges) Lag(consumer string, messages int64, known bool) {
	if !known {
		b.lag.DeleteLabelValues(consumer)
		return
	}
	b.lag.WithLabelValues(consumer).Set(float64(messages))
}
