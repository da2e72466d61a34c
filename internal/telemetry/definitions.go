package telemetry

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
	Help   string // sentences; times are in seconds unless the name has another unit
}

// Definitions returns all metrics, in the order of the documentation. The slice is the caller's own.
func Definitions() []Definition {
	return append(ofRefunds(), ofBridges()...)
}

func ofRefunds() []Definition {
	return []Definition{
		{Name: "intake_total", Kind: Counter, Labels: []string{"consumer", "outcome"},
			Help: "Requests and events that were decided, by consumer (REST, events or a bridge) and outcome."},
		{Name: "duplicates_total", Kind: Counter, Labels: []string{"consumer", "cause"},
			Help: "Requests and events that repeated an earlier one, by cause: event = the producer sent the same event id again; refund = another event " +
				"for a known refund or capture; redelivery = the broker delivered the same message again; replay = a message was sent again on purpose; " +
				"settled = a parked message had been settled meanwhile."},
		{Name: "conflicts_total", Kind: Counter, Labels: []string{"code"},
			Help: "Requests that used a known identity with other parameters, by problem code."},
		{Name: "accept_seconds", Kind: Histogram,
			Help: "Time from the arrival of a request or event until its outcome was committed."},
		{Name: "refund_duration_seconds", Kind: Histogram, Labels: []string{"state"},
			Help: "Time from a refund's acceptance to its first final state, by that state, whatever caused it: an answer, a notice, a line, a cancellation or a person's decision."},
		{Name: "channel_calls_total", Kind: Counter, Labels: []string{"account", "op", "answer"},
			Help: "Calls to channels, by account, operation (SEND, QUERY, LIST) and class of the answer."},
		{Name: "account_alarm", Kind: Gauge, Labels: []string{"account", "reason"},
			Help: "1 while an account needs an operator, by reason: credentials = the channel refused the account's credentials, signature or name in the " +
				"last answer that told. Absent before the first such answer to this process."},
		{Name: "answers_kept", Kind: Gauge,
			Help: "Answers of channels that this process has received and could not store yet, because the database was unavailable. It tries until it ends."},
		{Name: "answers_lost_total", Kind: Counter,
			Help: "Answers of channels that were not stored: the process ended or had no room for more while the database was unavailable, or the " +
				"database refused them. The log has what they said."},
		{Name: "notices_total", Kind: Counter, Labels: []string{"account", "outcome"},
			Help: "Notices from channels, by outcome: entered = recorded as a fact of a refund; known = repeated a notice or stated what was known; kept = " +
				"stored until a refund with its number exists; unread = signed correctly, but it cannot be read: stored, and the channel is asked to repeat it; " +
				"unusable = with an unknown status; contradicts = names several refunds, of which each got a case; forged = rejected for its signature or age, " +
				"nothing was stored. A notice that could not be stored is not counted; the channel sends it again."},
		{Name: "facts_refused_total", Kind: Counter, Labels: []string{"guard"},
			Help: "Answers, lines and notices of channels that a guard of the database or of the state table refused, by guard. Each was kept as evidence " +
				"with a contradiction case; any is a bug."},
		{Name: "takeovers_total", Kind: Counter,
			Help: "Leases that the sweeper ended because their owner did not finish in time."},
		{Name: "overdue_total", Kind: Counter,
			Help: "Refunds whose timer was more than 30 s late when a sweep found it, because no worker handled it. The sweep enqueued each of them."},
		{Name: "decisions_applied_total", Kind: Counter,
			Help: "Approved decisions that the sweeper applied later, because an earlier request could still execute when they were approved."},
		{Name: "decisions_expired_total", Kind: Counter,
			Help: "Proposed decisions that expired without an approval."},
		{Name: "commit_unknown_total", Kind: Counter,
			Help: "Transactions whose COMMIT got no answer. Each was run again to find out whether it was committed."},
		{Name: "open_refunds", Kind: Gauge, Labels: []string{"state"},
			Help: "Refunds that are not final, are still exposed, or have an open case, by state."},
		{Name: "oldest_age_seconds", Kind: Gauge, Labels: []string{"state"},
			Help: "Time that the oldest open refund of each state has been in this state."},
		{Name: "cases_open", Kind: Gauge,
			Help: "Refunds and payments with an open case, which wait for a person."},
		{Name: "parked", Kind: Gauge, Labels: []string{"reason"},
			Help: "Parked messages that are not settled, by reason."},
		{Name: "unread_notices", Kind: Gauge, Labels: []string{"account"},
			Help: "Notices with a valid signature that cannot be read and were not dismissed, by account (see refundry notice). The channel goes on repeating " +
				"them. Must be 0."},
		{Name: "parked_alarms", Kind: Gauge,
			Help: "Parked messages that have waited for their payment for more than 15 minutes. Somebody must find out where the payment is."},
		{Name: "partitions_blocked", Kind: Gauge,
			Help: "Tables (receipts, deliveries) whose default partition holds rows, so that the partition of their month or day cannot be made. " +
				"Nothing is lost; an operator moves the rows."},
		{Name: "invariant_violations", Kind: Gauge, Labels: []string{"promise"},
			Help: "Violations of a promise (P1 to P12, see refundry verify) at the last continuous check. Must be 0."},
		{Name: "effects_per_refund_max", Kind: Gauge,
			Help: "Largest number of standing effects of one refund at the last continuous check. Above 1, a refund was paid more than once."},
		{Name: "over_refunded_minor_units", Kind: Gauge, Labels: []string{"currency"},
			Help: "Amount refunded above what was captured, summed over all payments, in minor units of the currency."},
		{Name: "continuous_check_leader", Kind: Gauge,
			Help: "1 in the process that does the continuous check, else 0. The sum over all processes must be 1; the results are those of this process."},
		{Name: "sending_held", Kind: Gauge,
			Help: "1 while sending is held after a restore or failover of the database (see refundry epoch), else 0."},
		{Name: "build_info", Kind: Gauge, Labels: []string{"version", "commit", "go"},
			Help: "Always 1. The labels have the version and commit of the running build and the Go version that built it."},
	}
}

func ofBridges() []Definition {
	return []Definition{
		{Name: "bridge_deliveries_total", Kind: Counter, Labels: []string{"consumer", "outcome"},
			Help: "Messages delivered by a broker whose outcome was committed, by outcome; PARKED = the message was parked without a decision."},
		{Name: "bridge_parked_total", Kind: Counter, Labels: []string{"consumer", "reason"},
			Help: "Messages that a bridge parked, by reason."},
		{Name: "bridge_opened_total", Kind: Counter, Labels: []string{"consumer"},
			Help: "Subscriptions that a bridge opened. More than one means that a connection broke."},
		{Name: "bridge_ack_failures_total", Kind: Counter, Labels: []string{"consumer"},
			Help: "Groups of messages whose acknowledgement the broker did not confirm. The broker delivers them again."},
		{Name: "bridge_lag_messages", Kind: Gauge, Labels: []string{"consumer"},
			Help: "Messages that the broker has for the bridge and that are not acknowledged, by the broker's count. Absent while the broker cannot be " +
				"queried."},
	}
}
