package refund

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// One story: two refunds of one payment, driven from a seed against the channel of sim_channel_test.go. Crashes, pauses,
// lost and late answers, takeovers, notices in any order, lines without our number, money that comes back, people who err,
// and at most one restore. The same seed tells the same story.

// world is everything that a story is about. The payment and its lines are in both records, as under their locks.
type world struct {
	rng     *rand.Rand
	c       Contract
	ch      *simChannel
	recs    []Record // born ones, each with its own effects only
	lines   []Effect // of the payment, of no refund
	payCase bool     // the payment's own case: excess that no refund has made
	people  [2]bench
	amounts [2]int64
	backup  *copyOf
	epoch   int
	held    bool // the epoch has not been ended: nothing is sent
	wished  bool // the second refund was asked for, and is asked for again until it is there
	liar    bool // the channel breaks its contract now and then; what it says is booked all the same
	deaf    int  // percent of the answers that are lost
	misread bool // it told another amount than it moved, once at least
	quiet   bool // no more faults: every call is heard and tells the truth
	ids     byte
	trace   uint64
	seen    map[string]int
	tells   bool // keep the history
	history []string
	play    rules
}

// rules are what the story is played by: the code as it is, or with a mistake planted.
type rules struct {
	apply   applyFunc
	decide  decideFunc
	mistake string // one that the world makes itself, see sim_mistakes_test.go
}

// broke ends a story: a promise does not hold.
type broke struct{ what string }

func newWorld(seed uint64, c Contract, play rules, seen map[string]int) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0x5eed)), c: c, epoch: 1, backup: &copyOf{}, seen: seen, play: play, trace: 14695981039346656037} // #nosec G404 -- a story, from its seed
	w.ch = &simChannel{c: c, now: day0, kept: map[string]simAnswer{}}
	w.amounts = [][2]int64{{1000, 500}, {700, 700}, {1000, 300}}[w.pick(3)]
	w.liar, w.deaf = w.pick(5) == 0, []int{40, 40, 40, 85}[w.pick(4)]
	w.birth(Payment{Tenant: 1, PaymentID: "pay_1", Currency: "USD", Captured: []int64{1500, 1500, 4000}[w.pick(3)]})
	return w
}

// birth accepts the next refund as the door does.
func (w *world) birth(p Payment) {
	i := len(w.recs)
	r := born()
	r.RID[15], r.RefundID, r.Amount = byte(7+i), fmt.Sprintf("rf_%d", i+1), w.amounts[i]
	r.Dispatches[0].Number = w.number(i, 1)
	r.Now, r.CreatedAt, r.StateSince, r.Epoch = w.ch.now, w.ch.now, w.ch.now, w.epoch
	p.Reserved, p.Refunds = p.Reserved+r.Amount, i+1
	r.Payment, r.Effects = p.WithExcess(), slices.Clone(w.lines)
	w.recs = append(w.recs, r)
	w.set(i, r)
}

// numbers are all that the two refunds of any story can get, and whose they are.
var numbers, owners = func() (all [2][16]string, of map[string]int) {
	of = map[string]int{}
	r := born()
	for i := range all {
		for n := range all[i] {
			all[i][n] = DispatchNumber(r.Installation, r.TenantCode, fmt.Sprintf("rf_%d", i+1), n+1)
			of[all[i][n]] = i
		}
	}
	return all, of
}()

func (w *world) number(i, no int) string { return numbers[i][no-1] }

// owner is the refund whose number it is, one that a restore has cut off included.
func (w *world) owner(number string) (int, bool) {
	i, ok := owners[number]
	return i, ok
}

func (w *world) pick(n int) int           { return w.rng.IntN(n) }
func (w *world) which() int               { return w.pick(len(w.recs)) }
func (w *world) chance(percent int) bool  { return !w.quiet && w.pick(100) < percent }
func (w *world) some(name string)         { w.seen[name]++ }
func (w *world) now() time.Time           { return w.ch.now }
func (w *world) someIf(ok bool, n string) { w.seen[n] += map[bool]int{true: 1}[ok] }

// draw is a time up to a limit.
func (w *world) draw(limit time.Duration) time.Duration {
	if w.quiet || limit <= 0 {
		return 0
	}
	return time.Duration(w.rng.Int64N(int64(limit)/int64(time.Millisecond)+1)) * time.Millisecond
}

func (w *world) fail(format string, a ...any) { panic(broke{fmt.Sprintf(format, a...)}) }

// note adds to the trace, and to the history where somebody wants to read it.
func (w *world) note(format string, a ...any) {
	if w.tells {
		w.history = append(w.history, w.now().Format("02 15:04:05.000 ")+fmt.Sprintf(format, a...))
	}
}

func (w *world) mix(words ...int) {
	for _, x := range words {
		w.trace = (w.trace ^ uint64(x)) * 1099511628211 // #nosec G115 -- a hash
	}
}

func (w *world) mixText(s string) {
	for i := range len(s) {
		w.mix(int(s[i]))
	}
}

// full is a record as the store reads it, with the payment's lines beside its own effects.
func (w *world) full(i int) Record {
	r := w.recs[i]
	r.Effects = append(slices.Clone(r.Effects), w.lines...)
	r.Now = w.now()
	return r
}

// set takes a written record apart again.
func (w *world) set(i int, r Record) {
	var own, lines []Effect
	for _, e := range r.Effects {
		if e.Ours {
			own = append(own, e)
		} else {
			lines = append(lines, e)
		}
	}
	r.Effects, w.lines = own, lines
	w.recs[i] = r
	w.paid(r.Payment)
}

func (w *world) paid(p Payment) {
	for i := range w.recs {
		w.recs[i].Payment = p
	}
	if p.Excess <= p.ExcessAccepted {
		w.payCase = false
	}
}

func (w *world) newID() RID {
	w.ids++
	return RID{0: 1, 15: w.ids}
}

// name gives ids to what a change makes, as the store does.
func (w *world) name(ch *Change) {
	for i := range ch.After.Effects {
		if ch.After.Effects[i].ID.IsZero() {
			ch.After.Effects[i].ID = w.newID()
		}
	}
	if c := ch.After.Case; c != nil && c.ID.IsZero() {
		named := *c
		named.ID = w.newID()
		ch.After.Case = &named
	}
}

// enter brings a fact in as the store does: an id that a line has given to another refund is freed first. A conclusion that
// does not hold any more changes nothing.
func (w *world) enter(i int, f Fact) {
	r := w.full(i)
	if f.Kind.keyed() && f.ChannelRefundID != "" && !w.free(i, f.ChannelRefundID) {
		f.ChannelRefundID = "" // a person gave it to another refund; what is said of the number stands
		w.some("the channel's id was another refund's by a person's word")
	}
	ch, err := w.play.apply(r, f, w.c)
	if errors.Is(err, ErrNotOwner) {
		return
	}
	if err != nil {
		w.fail("%s in %s: %v", f.Kind, r.State, err)
	}
	w.note("rf_%d %s: %s(%d#%d %s %d) → %s exposed=%v case=%v %v", i+1, r.State, f.Kind, f.Dispatch, f.Attempt, f.ChannelRefundID, f.Amount,
		ch.After.State, ch.After.Exposed, reasonsOf(ch.After.Case), ch.Rows)
	w.watchFact(r, f, ch)
	w.wrote(i, r, ch)
}

// free says whether a channel's id can be booked for the refund; an id that only a line had given away is taken back.
func (w *world) free(i int, id string) bool {
	for n := range w.recs {
		for _, e := range w.recs[n].Effects {
			if n == i || e.ChannelRefundID != id || e.Status == EffectDropped {
				continue
			}
			r := w.full(n)
			ch, ok, err := Unpair(r, id, w.c)
			if err != nil {
				w.fail("unpair: %v", err)
			}
			if !ok {
				return false
			}
			w.some("a line's id proved to be another refund's")
			w.wrote(n, r, ch)
		}
	}
	return true
}

// wrote writes a change, and checks what the database checks.
func (w *world) wrote(i int, before Record, ch Change) {
	w.name(&ch)
	for _, id := range ch.Rows {
		w.seen[id]++
		w.mixText(id)
	}
	w.mix(i, len(ch.Steps), ch.After.JournalSeq, int(ch.After.Payment.Refunded), int(w.now().UnixMilli()))
	w.mixText(string(ch.After.State))
	w.set(i, ch.After)
	w.calls(before, ch)
	if wrong := slices.Concat(brokenRow(before, ch), w.brokenBalance()); len(wrong) > 0 {
		w.fail("rf_%d from %s to %s by %v: %v", i+1, before.State, ch.After.State, ch.Rows, wrong)
	}
}

func (w *world) brokenBalance() []string {
	rs := slices.Clone(w.recs)
	rs[0] = w.full(0)
	return slices.DeleteFunc(brokenMoney(rs...), func(msg string) bool {
		return w.payCase && msg == excessAlone
	})
}

// pass lets time go by for everybody.
func (w *world) pass(d time.Duration) {
	w.ch.pass(w.now().Add(d))
	for i := range w.recs {
		w.recs[i].Now = w.now()
	}
}

// work does the next thing for a refund, as a job does.
func (w *world) work(i int) {
	r := w.full(i)
	next := w.play.decide(r, w.c, r.Now)
	kinds := map[StepKind]AttemptKind{StepSend: AttemptSend, StepQuery: AttemptQuery, StepList: AttemptList}
	switch next.Kind {
	case StepSend, StepQuery, StepList:
		w.call(i, kinds[next.Kind], next.Dispatch)
	case StepOpenCase, StepSettle, StepRetireKey:
		w.someIf(next.Kind == StepRetireKey, "a number died before it was sent again")
		w.enter(i, conclusionOf(next, r.Generation))
	case StepWait, StepDone:
	}
}

// call claims, or asks where nobody has to own the call, and puts the bytes on their way.
func (w *world) call(i int, kind AttemptKind, no int) {
	r := w.recs[i]
	d, _ := r.Dispatch(no)
	resent, again := kind == AttemptSend && r.State != StatePending, r.DispatchNo > 1
	var attempt int
	ok := true
	switch {
	case r.State.Final() || (r.Case != nil && kind != AttemptSend):
		r, attempt = ask(r, no, w.c, w.now())
	case kind == AttemptSend && w.c.Limits.Spacing > 0 && r.Payment.NextSendAt.After(w.now()):
		return
	default:
		r, attempt, ok = w.claims(r, kind, no)
	}
	if !ok {
		return
	}
	a, _ := r.Attempt(attempt)
	if kind == AttemptSend {
		r.Payment.NextSendAt = w.now().Add(w.c.Limits.Spacing.D())
		w.someIf(resent, "a key was replayed")
		w.someIf(again, "a second number was sent")
	}
	r.Effects = append(slices.Clone(r.Effects), w.lines...)
	w.set(i, r)
	call := &simCall{refund: i, attempt: *a, number: d.Number, amount: r.Amount, plan: w.plan(kind)}
	call.left = w.now().Add(w.draw(w.leaves(*a)))
	call.acts = call.left
	if kind == AttemptSend {
		call.acts = call.acts.Add(w.draw(w.c.Horizon.D()))
		w.someIf(call.acts.After(a.NotAfter), "bytes acted after their owner's time")
	}
	w.note("rf_%d %s %s %d#%d: %+v acts %s", i+1, r.State, kind, no, attempt, call.plan, call.acts.Format("15:04:05.000"))
	w.mix(i, attempt, no, int(call.acts.UnixMilli()))
	w.ch.calls = append(w.ch.calls, call)
}

// plan draws what will become of a call.
func (w *world) plan(kind AttemptKind) simPlan {
	p := simPlan{answers: !w.chance(w.deaf), sayID: !w.chance(35), sayMoney: !w.chance(20), keeps: true}
	p.lies, p.misreads = w.liar && w.chance(20), w.liar && w.chance(10)
	w.misread = w.misread || p.misreads
	if kind != AttemptSend {
		p.blinks = w.chance(25)
		if p.partial = w.chance(35); w.chance(5) {
			p.does = []FactKind{RefusedClean, RefusedNewNumber, Retryable, NotSent, RefusedEcho}[w.pick(5)]
		}
		return p
	}
	if w.quiet {
		return p
	}
	p.does = []FactKind{"", "", "", "", Unknown, Unknown, Retryable, NotSent, RefusedEcho, RefusedClean, RefusedNewNumber}[w.pick(11)]
	if p.lies && w.chance(50) { // it says no, and has it all the same
		p.does = []FactKind{RefusedClean, RefusedNewNumber}[w.pick(2)]
		p.holds, p.fails = w.chance(70), w.chance(60)
	}
	p.holds, p.fails, p.keeps, p.echoes = w.chance(30), w.chance(30), w.chance(50), w.chance(50)
	if w.chance(5) {
		p.wrong = 1
	}
	p.hides, p.settles = w.draw(w.c.asking().VisibilityLag.D()), w.draw(3*time.Minute)
	return p
}

// hear brings the answer of a call that has come back, or that its caller has given up, whoever owns the refund now.
func (w *world) hear(call *simCall) {
	gaveUp := !call.done && !call.plan.answers && !w.now().Before(call.left)
	if call.dead || (!call.done && !gaveUp) {
		return
	}
	if gaveUp {
		call.answer = Answer{Kind: Unknown}
		w.some("a caller gave up before the channel acted")
	}
	call.dead = !w.chance(8)
	w.someIf(!call.dead, "an answer was entered twice")
	if call.refund >= len(w.recs) {
		w.some("an answer for a refund that a restore has cut off")
		return
	}
	i, f := call.refund, w.answerOf(call)
	if _, ok := w.recs[i].Dispatch(f.Dispatch); !ok {
		w.some("an answer for a number that a restore has cut off")
		return
	}
	w.watchAnswer(call)
	found := call.answer.Kind != NotFound && call.answer.Kind != Unknown
	if !found {
		w.take(call.lines, "list", !call.plan.partial)
	}
	w.enter(i, f)
	if found {
		w.take(call.lines, "list", !call.plan.partial)
	}
}

// take brings lines of the payment in as the store does.
func (w *world) take(lines []ListedEffect, source string, complete bool) {
	if len(lines) == 0 {
		return
	}
	f := w.family(source)
	for _, l := range lines {
		if _, _, ok := f.Owner(l.Number); !ok {
			w.change(f, func() (Change, bool, error) { return f.Line(l, complete) })
		}
	}
	w.settleLines(f)
	for _, l := range lines {
		if k, no, ok := f.Owner(l.Number); ok {
			w.enter(int(k.RID[15]-7), Fact{Kind: l.Status, Dispatch: no, ChannelRefundID: l.ChannelRefundID, Amount: l.Amount, Currency: l.Currency, Source: source, Actor: "system:lines"})
		}
	}
}

func (w *world) family(source string) *PaymentSet {
	return &PaymentSet{Payment: w.recs[0].Payment, Records: slices.Clone(w.recs), Lines: slices.Clone(w.lines), Contract: w.c, Source: source, Now: w.now()}
}

// settleLines goes on until nothing more is to be done about held lines.
func (w *world) settleLines(f *PaymentSet) {
	for n := 0; w.change(f, f.Settle); n++ {
		if n > 20 {
			w.fail("held lines never come to rest")
		}
	}
}

// change writes one change of the payment's family.
func (w *world) change(f *PaymentSet, do func() (Change, bool, error)) bool {
	before := f.Payment
	ch, ok, err := do()
	if err != nil {
		w.fail("lines: %v", err)
	}
	if !ok {
		return false
	}
	w.name(&ch)
	w.watchLines(f, ch)
	f.Absorb(ch)
	for i := range w.people {
		w.people[i].proposal = nil // nothing that was proposed before these lines were known stands
	}
	w.note("lines: %v refunded %d held %d excess %d", ch.Rows, f.Payment.Refunded, f.Payment.Held, f.Payment.Excess)
	if p := f.Payment; p.Excess > before.Excess && p.Excess > p.ExcessAccepted && ch.After.RID.IsZero() {
		w.payCase = true
		w.some("a payment's own case")
	}
	w.lines = slices.Clone(f.Lines)
	if ch.After.RID.IsZero() {
		w.paid(f.Payment)
		if wrong := w.brokenBalance(); len(wrong) > 0 {
			w.fail("lines: %v", wrong)
		}
	} else {
		i := int(ch.After.RID[15] - 7)
		w.wrote(i, ch.Before, ch)
	}
	return true
}

// tell enters one of the channel's notices. One that names nothing of ours is kept and comes again.
func (w *world) tell(n *simNotice) {
	i, ok := w.owner(n.number)
	if !ok || i >= len(w.recs) {
		return
	}
	for _, d := range w.recs[i].Dispatches {
		if d.Number == n.number {
			if n.told {
				w.some("a notice came twice")
			} else if n.fact.Kind == w.ch.word(n.of) && len(w.recs[i].Dispatches) == 1 {
				w.people[i].erred = false // the channel's last word: now it has to be right
			}
			n.told = true
			f := n.fact
			f.Dispatch = d.Ordinal
			w.enter(i, f)
			return
		}
	}
}

func (w *world) takeOver(i int) {
	if r := w.recs[i]; r.State == StateProcessing && !r.LeaseEndsAt.After(w.now()) {
		w.some("a silent owner was taken over")
		w.enter(i, Fact{Kind: LeaseEnd, Generation: r.Generation, Source: "sweeper", Actor: "system:sweeper"})
	}
}
