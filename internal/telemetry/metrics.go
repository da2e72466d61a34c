// Package telemetry is the page of all metrics: every name, label and help text stands here and nowhere else.
// docs/metrics.md is generated from it.
package telemetry

import (
	"fmt"
	"net/http"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/refundry/refundry/internal/refund"
)

// Kind of a metric, as Prometheus names it.
type Kind string

// Kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Definition is one metric.
type Definition struct {
	Name   string // without the prefix refundry_
	Kind   Kind
	Labels []string
	Help   string
}

// Definitions lists all metrics, in the order of the documentation.
func Definitions() []Definition {
	return []Definition{
		{"intake_total", Counter, []string{"consumer", "outcome"}, "Requests and events that the door decided, by who brought them and what was decided."},
		{"duplicates_total", Counter, []string{"consumer", "cause"}, "Replays: cause event = the producer sent the same event id again, refund = another event for a known refund or capture, redelivery = the broker delivered the same message again, replay = sent again on purpose, settled = a parked message that was dealt with meanwhile."},
		{"conflicts_total", Counter, []string{"code"}, "Requests that named a known identity with other parameters, by problem code."},
		{"accept_seconds", Histogram, nil, "From the arrival of a request at the door until its verdict was durable."},
		{"refund_duration_seconds", Histogram, []string{"state"}, "From acceptance until the refund reached its first final state, by that state, whatever made it final: an answer, a notice, a line, a cancellation or a person's decision."},
		{"channel_calls_total", Counter, []string{"account", "op", "answer"}, "Calls to channels by account, operation (SEND, QUERY, LIST) and classified answer."},
		{"notices_total", Counter, []string{"account", "outcome"}, "Notices of channels by what became of them: entered = a fact of a refund, known = it came before or said what was known, kept = it names no refund of ours yet, unusable = signed and not to be read, or of a status that we do not know, forged = its signature or its time does not fit, nothing was written. Not counted: what could not be stored, which the channel sends again."},
		{"takeovers_total", Counter, nil, "Refunds whose owner fell silent and whose lease was ended by the sweeper."},
		{"overdue_total", Counter, nil, "Refunds whose timer had run out more than 30 s before a sweep found them: nobody was looking. Each was handed on by that sweep."},
		{"decisions_applied_total", Counter, nil, "Approved decisions that took effect by the sweeper, because something sent could still act when they were approved."},
		{"decisions_expired_total", Counter, nil, "Proposals that nobody approved in time."},
		{"commit_unknown_total", Counter, nil, "Transactions whose COMMIT was sent and not answered; each was run again to learn its outcome."},
		{"open_refunds", Gauge, []string{"state"}, "Open refunds, by state: not final, still exposed, or with an open case."},
		{"oldest_age_seconds", Gauge, []string{"state"}, "Age in its state of the oldest refund that is not done with."},
		{"cases_open", Gauge, nil, "Refunds and payments that wait for a person."},
		{"bridge_deliveries_total", Counter, []string{"consumer", "outcome"}, "Deliveries of a broker whose fate is durable, by outcome; PARKED = the door never decided them."},
		{"bridge_parked_total", Counter, []string{"consumer", "reason"}, "Messages that a bridge brought and that came to the parking lot, by reason."},
		{"bridge_opened_total", Counter, []string{"consumer"}, "Incarnations of a bridge's subscription: more than one means that connections broke."},
		{"bridge_ack_failures_total", Counter, []string{"consumer"}, "Groups whose acknowledgement the broker did not confirm; it delivers them again."},
		{"bridge_lag_messages", Gauge, []string{"consumer"}, "Messages that the broker holds for the bridge and that were not acknowledged, by the broker's own count. Absent while it cannot be asked."},
		{"parked", Gauge, []string{"reason"}, "Messages in the parking lot that nobody has settled, by reason."},
		{"invariant_violations", Gauge, []string{"promise"}, "Places where a promise (P1 to P12, see refundry verify) is broken, as the continuous check last saw it. Must be 0."},
		{"effects_per_refund_max", Gauge, nil, "Most effects that stand for one refund, as the continuous check last saw it. Above 1 money moved twice."},
		{"over_refunded_minor_units", Gauge, []string{"currency"}, "Minor units refunded beyond what was captured, over all payments."},
		{"sending_held", Gauge, nil, "1 while nothing is sent since the database was restored or failed over (refundry epoch), else 0."},
		{"build_info", Gauge, []string{"version", "commit", "go"}, "Always 1; the labels tell which build runs and which Go built it."},
	}
}

// Metrics are the registered metrics of one process.
type Metrics struct {
	registry *prometheus.Registry

	intake, duplicates, conflicts, notices *prometheus.CounterVec
	bridge                                 Bridges
	workers                                Workers
	commitUnknown                          prometheus.Counter
	accept                                 prometheus.Observer
	duration                               *prometheus.HistogramVec
	refunds, oldest, parked                *prometheus.GaugeVec
	promises                               promiseMetrics
	build                                  *prometheus.GaugeVec
	cases                                  prometheus.Gauge
}

// New registers every metric of the page, and those of the Go runtime and the process.
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
	m.commitUnknown = counter("commit_unknown_total").WithLabelValues()
	m.bridge = Bridges{duplicates: m.duplicates, deliveries: counter("bridge_deliveries_total"), parked: counter("bridge_parked_total"), opened: counter("bridge_opened_total"),
		ackFailures: counter("bridge_ack_failures_total"), lag: gauge("bridge_lag_messages")}
	m.workers = Workers{calls: counter("channel_calls_total"), takeovers: counter("takeovers_total").WithLabelValues(), overdue: counter("overdue_total").WithLabelValues(),
		applied: counter("decisions_applied_total").WithLabelValues(), expired: counter("decisions_expired_total").WithLabelValues()}
	m.accept = histogram("accept_seconds", prometheus.ExponentialBuckets(0.001, 2, 14)).WithLabelValues()
	m.duration = histogram("refund_duration_seconds", prometheus.ExponentialBuckets(0.01, 3, 14))
	m.promises = promiseMetrics{violations: gauge("invariant_violations"), most: gauge("effects_per_refund_max").WithLabelValues(),
		excess: gauge("over_refunded_minor_units"), held: gauge("sending_held").WithLabelValues()}
	m.refunds, m.oldest, m.parked, m.cases = gauge("open_refunds"), gauge("oldest_age_seconds"), gauge("parked"), gauge("cases_open").WithLabelValues()
	m.build = gauge("build_info")
	return m
}

// Handler serves the metrics in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Intake counts one decision of the door.
func (m *Metrics) Intake(consumer, outcome, duplicateCause, conflictCode string) {
	m.intake.WithLabelValues(consumer, outcome).Inc()
	if duplicateCause != "" {
		m.duplicates.WithLabelValues(consumer, duplicateCause).Inc()
	}
	if conflictCode != "" {
		m.conflicts.WithLabelValues(conflictCode).Inc()
	}
}

// Accepted measures a pass through the door.
func (m *Metrics) Accepted(d time.Duration) { m.accept.Observe(d.Seconds()) }

// Ended observes the age of a refund that has reached its first final state.
func (m *Metrics) Ended(state refund.State, age time.Duration) {
	m.duration.WithLabelValues(string(state)).Observe(age.Seconds())
}

// Notice counts a channel's notice. outcome is one of refund.NoticeOutcome's words, or "forged".
func (m *Metrics) Notice(account, outcome string) {
	m.notices.WithLabelValues(account, outcome).Inc()
}

// CommitUnknown counts a lost answer of COMMIT.
func (m *Metrics) CommitUnknown() { m.commitUnknown.Inc() }

// Backlog is what the database holds at one moment.
type Backlog struct {
	Refunds map[string]int           // by state, not done with
	Oldest  map[string]time.Duration // by state
	Parked  map[string]int           // by reason
	Cases   int
}

// SetBacklog replaces the gauges. States and reasons that are gone disappear, but every state in known shows at least 0.
func (m *Metrics) SetBacklog(s Backlog, known []string) {
	m.refunds.Reset()
	m.oldest.Reset()
	m.parked.Reset()
	for _, state := range known {
		m.refunds.WithLabelValues(state).Set(float64(s.Refunds[state]))
		m.oldest.WithLabelValues(state).Set(s.Oldest[state].Seconds())
	}
	for reason, n := range s.Parked {
		m.parked.WithLabelValues(reason).Set(float64(n))
	}
	m.cases.Set(float64(s.Cases))
}

// Markdown is docs/metrics.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Metrics\n\nServed at `/metrics` in the Prometheus text format. Generated from `internal/telemetry`; `go generate ./internal/telemetry` makes it anew.\n\n")
	b.WriteString("| metric | kind | labels | what |\n|---|---|---|---|\n")
	for _, d := range Definitions() {
		labels := append([]string(nil), d.Labels...)
		sort.Strings(labels)
		fmt.Fprintf(&b, "| `refundry_%s` | %s | %s | %s |\n", d.Name, d.Kind, strings.Join(labels, ", "), d.Help)
	}
	b.WriteString("\nThe Go runtime's and the process's own metrics (`go_*`, `process_*`) are served beside them.\n")
	return b.String()
}
