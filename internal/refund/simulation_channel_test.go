package refund

import (
	"slices"
	"time"
)

// A channel that holds the truth. It knows nothing of records, tables or exposure: it sees numbers and amounts, makes
// refunds, hides them for a while, loses answers and tells things late and twice. Its promises are the contract's: what
// left acts within the horizon, what was done shows within the lag, keys dedupe as long as they live.

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
	settlesAs   simStatus // what it becomes when it settles
	asked       int64     // the amount that was asked for
	at          time.Time // when it was made
	missed      int       // how often it was not shown although it had to be; fewer times than absences count
	keyed       bool      // its number is remembered
	keyEnds     time.Time // zero = for ever
	everMoved   bool
}

// simPlan is what happens to a send: drawn when it is claimed, carried out when its bytes arrive.
type simPlan struct {
	outcome        FactKind // "" = it acts, or answers; Unknown = nothing happens; else the refusal that is said
	misreports     bool     // … and tells another amount than it moved
	breaksContract bool     // the channel breaks its contract
	answers        bool     // false: the answer is lost
	acknowledges   bool     // the refund is accepted first and settles later
	fails          bool     // … and then fails
	echoes         bool     // an echo is said of what this very send did
	misses         bool     // not shown this once
	amountError    int64    // added to the amount
	sayID          bool
	sayMoney       bool
	remembersKey   bool // a key that is kept only after a 2xx is kept
	incompleteList bool // a list is incomplete
	hiddenFor      time.Duration
	settlesAfter   time.Duration
}

// simCall is a call on its way. Who made it keeps its attempt in mind, whatever becomes of the row.
type simCall struct {
	refund     int
	attempt    Attempt
	number     string
	amount     int64
	sentAt     time.Time
	executesAt time.Time
	plan       simPlan
	executed   bool           // its bytes have arrived
	answer     Answer         // valid once done
	lines      []ListedEffect // of a list, valid once done
	abandoned  bool           // nobody waits for the answer, or it was heard
}

// simNotice is what the channel will tell by itself; it tells it until somebody has acknowledged it, and sometimes again.
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

// advance moves the channel's clock: bytes arrive, refunds settle.
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
	if r.number != "" {
		ch.notices = append(ch.notices, &simNotice{number: r.number, fact: ch.fact(r), of: r})
	}
}

// fact is the truth about a refund in the words of the protocol.
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

// foreign is somebody else's refund of the same payment, made beside us.
func (ch *simChannel) foreign(amount int64) {
	r := &simRefund{id: ch.newID(), asked: amount, amount: amount, visibleFrom: ch.now}
	ch.made = append(ch.made, r)
	ch.setStatus(r, simMoved)
}

// returnMoney returns the money of a refund that moved, as a bank may do days later.
func (ch *simChannel) returnMoney(r *simRefund) { ch.setStatus(r, simReturned) }
