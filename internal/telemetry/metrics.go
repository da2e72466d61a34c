// Package telemetry has all metrics. definitions.go has every name, label and help text; docs/metrics.md is generated from it.
package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/refundry/refundry/internal/refund"
)

// Metrics are the registered metrics of one process.
type Metrics struct {
	registry *prometheus.Registry

	intake, duplicates, conflicts, notices *prometheus.CounterVec
	refused                                *prometheus.CounterVec
	bridge                                 Bridges
	workers                                Workers
	commitUnknown                          prometheus.Counter
	accept                                 prometheus.Observer
	duration                               *prometheus.HistogramVec
	refunds, oldest, parked, unread        *prometheus.GaugeVec
	promises                               promiseMetrics
	build                                  *prometheus.GaugeVec
	cases, alarms, blocked                 prometheus.Gauge
}

// New registers every defined metric, and those of the Go runtime and of the process, in a registry of its own.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	defs := map[string]Definition{}
	for _, d := range Definitions() {
		defs[d.Name] = d
	}
	counter := func(name string) *prometheus.CounterVec {
		d := defs[name]
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "refundry", Name: d.Name, Help: d.Help}, d.Labels)
		m.registry.MustRegister(v)
		return v
	}
	gauge := func(name string) *prometheus.GaugeVec {
		d := defs[name]
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "refundry", Name: d.Name, Help: d.Help}, d.Labels)
		m.registry.MustRegister(v)
		return v
	}
	histogram := func(name string, buckets []float64) *prometheus.HistogramVec {
		d := defs[name]
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "refundry", Name: d.Name, Help: d.Help, Buckets: buckets}, d.Labels)
		m.registry.MustRegister(v)
		return v
	}
	m.intake, m.duplicates, m.conflicts = counter("intake_total"), counter("duplicates_total"), counter("conflicts_total")
	m.notices = counter("notices_total")
	m.refused = counter("facts_refused_total")
	m.commitUnknown = counter("commit_unknown_total").WithLabelValues()
	m.bridge = Bridges{duplicates: m.duplicates, deliveries: counter("bridge_deliveries_total"), parked: counter("bridge_parked_total"),
		opened: counter("bridge_opened_total"), ackFailures: counter("bridge_ack_failures_total"), lag: gauge("bridge_lag_messages")}
	m.workers = Workers{calls: counter("channel_calls_total"),
		takeovers: counter("takeovers_total").WithLabelValues(), overdue: counter("overdue_total").WithLabelValues(),
		applied: counter("decisions_applied_total").WithLabelValues(), expired: counter("decisions_expired_total").WithLabelValues(),
		lost: counter("answers_lost_total").WithLabelValues(), kept: gauge("answers_kept").WithLabelValues(), accountAlarms: gauge("account_alarm")}
	m.accept = histogram("accept_seconds", prometheus.ExponentialBuckets(0.001, 2, 14)).WithLabelValues()
	m.duration = histogram("refund_duration_seconds", prometheus.ExponentialBuckets(0.01, 3, 14))
	m.promises = promiseMetrics{violations: gauge("invariant_violations"), most: gauge("effects_per_refund_max").WithLabelValues(),
		excess: gauge("over_refunded_minor_units"), held: gauge("sending_held").WithLabelValues(),
		leader: gauge("continuous_check_leader").WithLabelValues()}
	m.refunds, m.oldest, m.parked, m.cases = gauge("open_refunds"), gauge("oldest_age_seconds"), gauge("parked"), gauge("cases_open").WithLabelValues()
	m.unread = gauge("unread_notices")
	m.alarms, m.blocked = gauge("parked_alarms").WithLabelValues(), gauge("partitions_blocked").WithLabelValues()
	m.build = gauge("build_info")
	return m
}

// Handler serves the metrics in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Intake counts one decided request or event. duplicateCause and conflictCode are "" when there is none.
func (m *Metrics) Intake(consumer, outcome, duplicateCause, conflictCode string) {
	m.intake.WithLabelValues(consumer, outcome).Inc()
	if duplicateCause != "" {
		m.duplicates.WithLabelValues(consumer, duplicateCause).Inc()
	}
	if conflictCode != "" {
		m.conflicts.WithLabelValues(conflictCode).Inc()
	}
}

// Accepted records the time from the arrival of a request or event to its committed outcome.
func (m *Metrics) Accepted(d time.Duration) { m.accept.Observe(d.Seconds()) }

// Ended observes the age of a refund that has reached its first final state.
func (m *Metrics) Ended(state refund.State, age time.Duration) {
	m.duration.WithLabelValues(string(state)).Observe(age.Seconds())
}

// Notice counts a notice from a channel. outcome is a refund.NoticeOutcome or "forged".
func (m *Metrics) Notice(account, outcome string) {
	m.notices.WithLabelValues(account, outcome).Inc()
}

// FactRefused counts a fact of a channel that a guard of the database refused.
func (m *Metrics) FactRefused(guard string) { m.refused.WithLabelValues(guard).Inc() }

// CommitUnknown counts a COMMIT without an answer.
func (m *Metrics) CommitUnknown() { m.commitUnknown.Inc() }

// Backlog is the open work in the database at one moment.
type Backlog struct {
	Refunds map[string]int           // open refunds by state
	Oldest  map[string]time.Duration // by state
	Parked  map[string]int           // by reason
	Cases   int
	Unread  map[string]int // by account
	Alarms  int            // parked messages that have waited too long
	Blocked int            // tables with rows in their default partition
}

// SetBacklog replaces the gauges of the backlog. Every state in known has a value, 0 if none; other states, reasons
// and accounts without a value disappear.
func (m *Metrics) SetBacklog(s Backlog, known []string) {
	m.refunds.Reset()
	m.oldest.Reset()
	m.parked.Reset()
	m.unread.Reset()
	for _, state := range known {
		m.refunds.WithLabelValues(state).Set(float64(s.Refunds[state]))
		m.oldest.WithLabelValues(state).Set(s.Oldest[state].Seconds())
	}
	for reason, n := range s.Parked {
		m.parked.WithLabelValues(reason).Set(float64(n))
	}
	for account, n := range s.Unread {
		m.unread.WithLabelValues(account).Set(float64(n))
	}
	m.cases.Set(float64(s.Cases))
	m.alarms.Set(float64(s.Alarms))
	m.blocked.Set(float64(s.Blocked))
}
