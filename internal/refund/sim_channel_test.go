package refund

import (
	"fmt"
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
	number, id string
	amount     int64
	status     simStatus
	shows      time.Time
	settles    time.Time // PENDING until then
	ends       simStatus // what it becomes when it settles
	keyed      bool      // its number is remembered
	keyEnds    time.Time // zero = for ever
	everMoved  bool
}

// simPlan is what happens to a send: drawn when it is claimed, carried out when its bytes arrive.
type simPlan struct {
	does     string // act, nothing, refuse, new-number, echo, retry, not-sent
	answers  bool   // false: the answer is lost
	holds    bool   // the refund is accepted first and settles later
	fails    bool   // … and then fails
	wrong    int64  // added to the amount
	sayID    bool
	sayMoney bool
	keeps    bool // a key that is kept only after a 2xx is kept
	hides    time.Duration
	settles  time.Duration
}

// simCall is a call on its way.
type simCall struct {
	refund  int
	attempt int
	kind    AttemptKind
	number  string
	amount  int64
	acts    time.Time
	plan    simPlan
	done    bool   // its bytes have arrived
	answer  Answer // valid once done
	dead    bool   // nobody waits for the answer
}

type simNotice struct {
	number string
	fact   Fact
}

type simChannel struct {
	c       Contract
	now     time.Time
	made    []*simRefund
	calls   []*simCall
	notices []simNotice
}

// pass moves the channel's clock: bytes arrive, refunds settle.
func (ch *simChannel) pass(to time.Time) {
	order := slices.Clone(ch.calls)
	slices.SortStableFunc(order, func(a, b *simCall) int { return a.acts.Compare(b.acts) })
	for _, call := range order {
		if !call.done && !call.acts.After(to) {
			ch.settle(call.acts)
			call.done, call.answer = true, ch.arrive(call)
		}
	}
	ch.settle(to)
}

func (ch *simChannel) settle(to time.Time) {
	ch.now = to
	for _, r := range ch.made {
		if r.status == simPending && !r.settles.After(to) {
			ch.become(r, r.ends)
		}
	}
}

func (ch *simChannel) become(r *simRefund, s simStatus) {
	r.status = s
	r.everMoved = r.everMoved || s == simMoved
	ch.notices = append(ch.notices, simNotice{r.number, ch.fact(r)})
}

// fact is the truth about a refund in the words of the protocol.
func (ch *simChannel) fact(r *simRefund) Fact {
	kind := map[simStatus]FactKind{simPending: Acknowledged, simMoved: Succeeded, simFailed: FailedFinal, simReturned: Reversed}[r.status]
	if r.status == simReturned && ch.c.Codes.LateFailure {
		kind = FailedFinal
	}
	return Fact{Kind: kind, ChannelRefundID: r.id, Amount: r.amount, Currency: "USD", Source: "notice", Actor: "system:notices"}
}

func (ch *simChannel) say(r *simRefund, p simPlan) Answer {
	f := ch.fact(r)
	a := Answer{Kind: f.Kind, ChannelRefundID: f.ChannelRefundID, Amount: f.Amount, Currency: f.Currency}
	if !p.sayID {
		a.ChannelRefundID = ""
	}
	if !p.sayMoney && r.amount == 1000 {
		a.Amount, a.Currency = 0, ""
	}
	return a
}

// arrive carries out a call whose bytes have reached the channel.
func (ch *simChannel) arrive(call *simCall) Answer {
	if call.kind != AttemptSend {
		return ch.look(call)
	}
	unheard := func(a Answer) Answer {
		if !call.plan.answers {
			return Answer{Kind: Unknown}
		}
		return a
	}
	switch call.plan.does {
	case "not-sent":
		return Answer{Kind: NotSent}
	case "nothing":
		return Answer{Kind: Unknown}
	case "retry":
		return unheard(Answer{Kind: Retryable})
	case "refuse":
		return unheard(Answer{Kind: RefusedClean})
	case "new-number":
		return unheard(Answer{Kind: RefusedNewNumber})
	case "echo":
		return unheard(Answer{Kind: RefusedEcho})
	}
	if known := ch.known(call.number); known != nil {
		return unheard(ch.say(known, call.plan))
	}
	return unheard(ch.say(ch.create(call), call.plan))
}

// known finds the refund that a key of a living number leads to.
func (ch *simChannel) known(number string) *simRefund {
	for _, r := range ch.made {
		if r.number == number && r.keyed && (r.keyEnds.IsZero() || ch.now.Before(r.keyEnds)) {
			return r
		}
	}
	return nil
}

func (ch *simChannel) create(call *simCall) *simRefund {
	p := call.plan
	r := &simRefund{number: call.number, id: fmt.Sprintf("cr_%d", len(ch.made)+1), amount: call.amount + p.wrong, shows: call.acts.Add(p.hides),
		keyed: ch.c.Key.Dedupes && (!ch.c.Key.After2xx || p.keeps)}
	if ch.c.Key.Lifetime > 0 {
		r.keyEnds = call.acts.Add(ch.c.Key.Lifetime.D())
	}
	ch.made = append(ch.made, r)
	if !p.holds {
		ch.become(r, simMoved)
		return r
	}
	r.ends, r.settles = simMoved, call.acts.Add(p.settles)
	if p.fails {
		r.ends = simFailed
	}
	ch.notices = append(ch.notices, simNotice{r.number, ch.fact(r)})
	return r
}

// look answers a question as of when it left: what is hidden then is not there.
func (ch *simChannel) look(call *simCall) Answer {
	if !call.plan.answers {
		return Answer{Kind: Unknown}
	}
	for _, r := range ch.made {
		if r.number == call.number && !r.shows.After(call.acts) {
			return ch.say(r, call.plan)
		}
	}
	return Answer{Kind: NotFound}
}

// back returns the money of a refund that moved, as a bank may do days later.
func (ch *simChannel) back(r *simRefund) { ch.become(r, simReturned) }

// moved is what the channel has paid under the numbers of a refund and not got back.
func (ch *simChannel) moved(rec Record) (sum int64, ever int) {
	for _, r := range ch.made {
		if slices.ContainsFunc(rec.Dispatches, func(d Dispatch) bool { return d.Number == r.number }) {
			if r.status == simMoved {
				sum += r.amount
			}
			if r.everMoved {
				ever++
			}
		}
	}
	return sum, ever
}
