package refund

import (
	"slices"
	"time"
)

// The simulated channel, with its answers in simulation_answers_test.go. It knows no records, rules or exposure: it gets numbers and amounts, makes refunds, hides them for
// a while, loses answers, and sends notices late and twice. It keeps the promises of its contract: a request is executed
// within the horizon, a refund is visible within the lag, keys deduplicate as long as they live.

type simStatus int

const (
	simPending simStatus = iota
	simMoved
	simFailed
	simReturned
)

// simRefund is one refund that the channel made.
type simRefund struct {
	number, id  string // number "" = somebody else's, on the same payment
	amount      int64
	status      simStatus
	visibleFrom time.Time
	settlesAt   time.Time // PENDING until then
	settlesAs   simStatus // status after that
	asked       int64     // requested amount
	at          time.Time // when it was made
	missed      int       // how often a visible refund was missed; less often than absences count
	keyed       bool      // its key is stored
	keyEnds     time.Time // zero = for ever
	everMoved   bool
	unnumbered  bool // the channel has lost its number: lists show the refund as a line without one
	silent      bool // … and no notice names it
}

// simPlan is the fate of a send: drawn when it is claimed, carried out when its request arrives.
type simPlan struct {
	outcome        FactKind // "" = executed, or answered; Unknown = nothing happens; else the refusal
	lowBalance     bool     // a refusal that takes the number is about a low balance
	passesLater    bool     // an echo is told as "an equal refund was just made"
	misreports     bool     // … and reports another amount than it moved
	breaksContract bool     // the channel breaks its contract
	answers        bool     // false: the answer is lost
	acknowledges   bool     // the refund is acknowledged first and settles later
	fails          bool     // … and then fails
	echoes         bool     // an echo is the answer to an executed send
	misses         bool     // missed this once
	amountError    int64    // added to the amount
	sayID          bool
	sayMoney       bool
	remembersKey   bool // a key that is kept only after a 2xx is kept
	incompleteList bool // a list is incomplete
	losesNumber    bool // the channel forgets the number of what it executes; only where it is asked for lists
	silent         bool // … and sends no notice about it
	hiddenFor      time.Duration
	settlesAfter   time.Duration
}

// simCall is a call in flight. Its caller keeps the attempt, even if a restore removes the row.
type simCall struct {
	refund     int
	attempt    Attempt
	number     string
	amount     int64
	sentAt     time.Time
	executesAt time.Time
	plan       simPlan
	executed   bool           // its request has arrived
	answer     Answer         // valid once executed
	lines      []ListedEffect // of a list, valid once executed
	abandoned  bool           // nobody waits for the answer, or it was delivered
}

// simNotice is a notice that the channel sends until it is acknowledged, and sometimes again.
type simNotice struct {
	number    string
	fact      Fact
	of        *simRefund
	delivered bool
}

type simChannel struct {
	c            Contract
	now          time.Time
	made         []*simRefund
	calls        []*simCall
	notices      []*simNotice
	firstAnswers map[string]simAnswer // first answers, where keys keep them
}

type simAnswer struct {
	answer Answer
	ends   time.Time
}

// advance moves the channel's clock: requests arrive, refunds settle.
func (ch *simChannel) advance(to time.Time) {
	for {
		var next *simCall
		for _, call := range ch.calls {
			if !call.executed && !call.executesAt.After(to) && (next == nil || call.executesAt.Before(next.executesAt)) {
				next = call
			}
		}
		if next == nil {
			break
		}
		ch.settle(next.executesAt)
		ch.arrive(next)
	}
	ch.settle(to)
	ch.calls = slices.DeleteFunc(ch.calls, func(c *simCall) bool { return c.executed && c.abandoned })
}

func (ch *simChannel) settle(to time.Time) {
	ch.now = to
	for _, r := range ch.made {
		if r.status == simPending && !r.settlesAt.After(to) {
			ch.setStatus(r, r.settlesAs)
		}
	}
}

func (ch *simChannel) setStatus(r *simRefund, s simStatus) {
	r.status = s
	r.everMoved = r.everMoved || s == simMoved
	ch.queueNotice(r)
}

func (ch *simChannel) queueNotice(r *simRefund) {
	if r.number != "" && !r.silent {
		ch.notices = append(ch.notices, &simNotice{number: r.number, fact: ch.fact(r), of: r})
	}
}

// fact returns the refund's true status as a fact.
func (ch *simChannel) fact(r *simRefund) Fact {
	return Fact{Kind: ch.word(r), ChannelRefundID: r.id, Amount: r.amount, Currency: "USD", Source: "notice", Actor: "system:notices"}
}

func (ch *simChannel) word(r *simRefund) FactKind {
	switch r.status {
	case simMoved:
		return Succeeded
	case simFailed:
		return FailedFinal
	case simReturned:
		if ch.c.Codes.LateFailure {
			return FailedFinal
		}
		return Reversed
	case simPending:
	}
	return Acknowledged
}

// foreign makes somebody else's refund of the same payment.
func (ch *simChannel) foreign(amount int64) {
	r := &simRefund{id: ch.newID(), asked: amount, amount: amount, visibleFrom: ch.now}
	ch.made = append(ch.made, r)
	ch.setStatus(r, simMoved)
}

// returnMoney returns the money of a refund that moved, as a bank may do days later.
func (ch *simChannel) returnMoney(r *simRefund) { ch.setStatus(r, simReturned) }

// anySilent reports whether a refund was made of which no notice tells.
func (ch *simChannel) anySilent() bool {
	return slices.ContainsFunc(ch.made, func(r *simRefund) bool { return r.silent })
}
