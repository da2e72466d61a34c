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
	number, id string // number "" = somebody else's, on the same payment
	amount     int64
	status     simStatus
	shows      time.Time
	settles    time.Time // PENDING until then
	ends       simStatus // what it becomes when it settles
	asked      int64     // the amount that was asked for
	at         time.Time // when it was made
	blinks     int       // how often it was not shown although it had to be; fewer times than absences count
	keyed      bool      // its number is remembered
	keyEnds    time.Time // zero = for ever
	everMoved  bool
}

// simPlan is what happens to a send: drawn when it is claimed, carried out when its bytes arrive.
type simPlan struct {
	does     FactKind // "" = it acts, or answers; Unknown = nothing happens; else the refusal that is said
	misreads bool     // … and tells another amount than it moved
	lies     bool     // the channel breaks its contract
	answers  bool     // false: the answer is lost
	holds    bool     // the refund is accepted first and settles later
	fails    bool     // … and then fails
	echoes   bool     // an echo is said of what this very send did
	blinks   bool     // not shown this once
	wrong    int64    // added to the amount
	sayID    bool
	sayMoney bool
	keeps    bool // a key that is kept only after a 2xx is kept
	partial  bool // a list is incomplete
	hides    time.Duration
	settles  time.Duration
}

// simCall is a call on its way. Who made it keeps its attempt in mind, whatever becomes of the row.
type simCall struct {
	refund  int
	attempt Attempt
	number  string
	amount  int64
	left    time.Time
	acts    time.Time
	plan    simPlan
	done    bool           // its bytes have arrived
	answer  Answer         // valid once done
	lines   []ListedEffect // of a list, valid once done
	dead    bool           // nobody waits for the answer, or it was heard
}

// simNotice is what the channel will tell by itself; it tells it until somebody has acknowledged it, and sometimes again.
type simNotice struct {
	number string
	fact   Fact
	of     *simRefund
	told   bool
}

type simChannel struct {
	c       Contract
	now     time.Time
	made    []*simRefund
	calls   []*simCall
	notices []*simNotice
	kept    map[string]simAnswer // first answers, where keys keep them
}

type simAnswer struct {
	answer Answer
	ends   time.Time
}

// pass moves the channel's clock: bytes arrive, refunds settle.
func (ch *simChannel) pass(to time.Time) {
	for {
		var next *simCall
		for _, call := range ch.calls {
			if !call.done && !call.acts.After(to) && (next == nil || call.acts.Before(next.acts)) {
				next = call
			}
		}
		if next == nil {
			break
		}
		ch.settle(next.acts)
		ch.arrive(next)
	}
	ch.settle(to)
	ch.calls = slices.DeleteFunc(ch.calls, func(c *simCall) bool { return c.done && c.dead })
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
	ch.tell(r)
}

func (ch *simChannel) tell(r *simRefund) {
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

func (ch *simChannel) say(r *simRefund, p simPlan) Answer {
	a := Answer{Kind: ch.word(r), ChannelRefundID: r.id, Amount: r.amount, Currency: "USD"}
	if p.misreads {
		a.Amount++
	}
	if !p.sayID {
		a.ChannelRefundID = ""
	}
	if !p.sayMoney && r.amount == r.asked {
		a.Amount, a.Currency = 0, ""
	}
	return a
}

// arrive carries out a call whose bytes have reached the channel.
func (ch *simChannel) arrive(call *simCall) {
	call.done = true
	switch {
	case call.attempt.Kind != AttemptSend && call.plan.does != "": // the question itself is refused
		call.answer = Answer{Kind: call.plan.does}
	case call.attempt.Kind == AttemptList:
		call.answer, call.lines = ch.list(call)
	case call.attempt.Kind == AttemptQuery:
		call.answer = ch.look(call)
	default:
		call.answer = ch.send(call)
	}
	if !call.plan.answers && call.answer.Kind != NotSent {
		call.answer, call.lines = Answer{Kind: Unknown}, nil
	}
}

// send answers a send. Where keys keep the first answer, it is given again, errors that prove something included. A lie is
// to act although it is said, or promised, that nothing is done.
func (ch *simChannel) send(call *simCall) Answer {
	if call.plan.lies {
		made := ch.create(call)
		if call.plan.does == "" {
			return ch.say(made, call.plan)
		}
		return Answer{Kind: call.plan.does}
	}
	switch does := call.plan.does; does {
	case NotSent, Unknown, Retryable: // before anything is remembered
		return Answer{Kind: does}
	case "":
		if known := ch.known(call.number); known != nil && !ch.c.Key.KeepsAnswer {
			if call.left.Before(known.at) && !ch.c.Key.InFlightRefused { // twins in flight: both act
				known = ch.create(call)
			}
			return ch.say(known, call.plan)
		}
	default:
		if known := ch.known(call.number); known != nil && !ch.c.Key.KeepsAnswer {
			return Answer{Kind: RefusedEcho} // a refund of the number exists: only an echo can be said of another try
		}
	}
	first, ok := ch.kept[call.number]
	if ok && ch.now.Before(first.ends) {
		return first.answer
	}
	a := Answer{Kind: call.plan.does}
	switch {
	case a.Kind == "":
		a = ch.say(ch.create(call), call.plan)
	case a.Kind == RefusedEcho && call.plan.echoes:
		ch.create(call)
	}
	if ch.c.Key.KeepsAnswer {
		ch.kept[call.number] = simAnswer{a, call.acts.Add(ch.c.Key.Lifetime.D())}
	}
	return a
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
	r := &simRefund{number: call.number, id: ch.newID(), asked: call.amount, at: call.acts, amount: call.amount + p.wrong, shows: call.acts.Add(p.hides),
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
	ch.tell(r)
	return r
}

func (ch *simChannel) newID() string { return fmt.Sprintf("cr_%d", len(ch.made)+1) }

// foreign is somebody else's refund of the same payment, made beside us.
func (ch *simChannel) foreign(amount int64) {
	r := &simRefund{id: ch.newID(), asked: amount, amount: amount, shows: ch.now}
	ch.made = append(ch.made, r)
	ch.become(r, simMoved)
}

// look answers a question as of when it left: what is hidden then is not there.
func (ch *simChannel) look(call *simCall) Answer {
	for _, r := range ch.made {
		if r.number == call.number && !r.shows.After(call.acts) && !call.plan.lies && !ch.blinks(r, call.plan) {
			return ch.say(r, call.plan)
		}
	}
	return Answer{Kind: NotFound}
}

// list shows the payment's refunds. An incomplete one shows every other line and proves no absence.
func (ch *simChannel) list(call *simCall) (Answer, []ListedEffect) {
	var lines []ListedEffect
	a := Answer{Kind: NotFound}
	if call.plan.partial {
		a.Kind = Unknown
	}
	for i, r := range ch.made {
		switch {
		case r.shows.After(call.acts) || (call.plan.partial && (i+call.attempt.No)%2 == 1):
		case r.number == call.number && (call.plan.lies || ch.blinks(r, call.plan)):
		case r.number == call.number:
			a = ch.say(r, call.plan)
		default:
			lines = append(lines, ch.line(r, r.number))
		}
	}
	return a, lines
}

// blinks: a question misses what is there, at most once less than absences are needed.
func (ch *simChannel) blinks(r *simRefund, p simPlan) bool {
	if !p.blinks || r.blinks >= ch.c.asking().Readings-1 {
		return false
	}
	r.blinks++
	return true
}

func (ch *simChannel) line(r *simRefund, number string) ListedEffect {
	return ListedEffect{Number: number, ChannelRefundID: r.id, Status: ch.word(r), Amount: r.amount, Currency: "USD"}
}

// back returns the money of a refund that moved, as a bank may do days later.
func (ch *simChannel) back(r *simRefund) { ch.become(r, simReturned) }
