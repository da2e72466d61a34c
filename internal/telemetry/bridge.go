package telemetry

import "github.com/prometheus/client_golang/prometheus"

// bridgeMetrics are those of the subscriptions of brokers.
type bridgeMetrics struct {
	deliveries, parked, opened, ackFailures *prometheus.CounterVec
	lag                                     *prometheus.GaugeVec
}

// BridgeDelivered counts a delivery; duplicateCause "" = no replay.
func (m *Metrics) BridgeDelivered(consumer, outcome, duplicateCause string) {
	m.bridge.deliveries.WithLabelValues(consumer, outcome).Inc()
	if duplicateCause != "" {
		m.duplicates.WithLabelValues(consumer, duplicateCause).Inc()
	}
}

// BridgeParked counts a message that came to the parking lot.
func (m *Metrics) BridgeParked(consumer, reason string) {
	m.bridge.parked.WithLabelValues(consumer, reason).Inc()
}

// BridgeOpened counts an incarnation.
func (m *Metrics) BridgeOpened(consumer string) { m.bridge.opened.WithLabelValues(consumer).Inc() }

// BridgeAckFailed counts a failed acknowledgement.
func (m *Metrics) BridgeAckFailed(consumer string) {
	m.bridge.ackFailures.WithLabelValues(consumer).Inc()
}

// BridgeLag tells how many messages wait at the broker; known = false takes the reading away.
func (m *Metrics) BridgeLag(consumer string, messages int64, known bool) {
	if !known {
		m.bridge.lag.DeleteLabelValues(consumer)
		return
	}
	m.bridge.lag.WithLabelValues(consumer).Set(float64(messages))
}
