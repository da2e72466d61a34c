package refund

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// One run: two refunds of one payment, driven from a seed against the simulated channel. Crashes, pauses, lost and late
// answers, takeovers, notices in any order, lines without our number, money that comes back, people who err, and at most one
// restore. The same seed gives the same run.

// simulation is the state of a run. The payment and its lines are in both records, as under their locks. Its methods are in
// simulation_*_test.go.
type simulation struct {
	rng               *rand.Rand
	c                 Contract
	ch                *simChannel
	recs              []Record // accepted ones, each with its own effects only
	lines             []Effect // of the payment, of no refund
	payCase           bool     // the payment's own case: excess without a refund that caused it
	decisions         [2]decisionState
	amounts           [2]int64
	backup            *simBackup
	epoch             int
	epochOpen         bool // the epoch has not been ended: nothing is sent
	secondRequested   bool // the second refund was requested, and is requested again until it is accepted
	breaksContract    bool // the channel sometimes breaks its contract; its answers are booked all the same
	lostAnswers       int  // percent of the answers that are lost
	amountMisreported bool // it reported another amount than it moved, at least once
	faultsOff         bool // no more faults: every answer is delivered and true
	ids               byte
	traceHash         uint64
	seen              map[string]int
	keepHistory       bool
	history           []string
	subject           implementation
}

// implementation is the code under test: as it is, or with a planted bug.
type implementation struct {
	apply   applyFunc
	decide  decideFunc
	mistake string // one of the simulation itself, see simulation_bugs_test.go
}

// violation ends a run: a promise is broken.
type violation struct{ what string }

func newSimulation(seed uint64, c Contract, code implementation, seen map[string]int) *simulation {
	w := &simulation{rng: rand.New(rand.NewPCG(seed, 0x5eed)), c: c, epoch: 1, backup: &simBackup{}, seen: seen, subject: code,
		traceHash: 14695981039346656037} // #nosec G404 -- a story, from its seed
	w.ch = &simChannel{c: c, now: day0, firstAnswers: map[string]simAnswer{}}
	w.amounts = [][2]int64{{1000, 500}, {700, 700}, {1000, 300}}[w.random(3)]
	w.breaksContract, w.lostAnswers = w.random(5) == 0, []int{40, 40, 40, 85}[w.random(4)]
	w.acceptRefund(Payment{Tenant: 1, PaymentID: "pay_1", Currency: "USD", Captured: []int64{1500, 1500, 4000}[w.random(3)]})
	return w
}

// acceptRefund accepts the next refund.
func (w *simulation) acceptRefund(p Payment) {
	i := len(w.recs)
	r := newRecord()
	r.RID[15], r.RefundID, r.Amount = byte(7+i), fmt.Sprintf("rf_%d", i+1), w.amounts[i]
	r.Dispatches[0].Number = w.number(i, 1)
	r.Now, r.CreatedAt, r.StateSince, r.Epoch = w.ch.now, w.ch.now, w.ch.now, w.epoch
	p.Reserved, p.Refunds = p.Reserved+r.Amount, i+1
	r.Payment, r.Effects = p.WithExcess(), slices.Clone(w.lines)
	w.recs = append(w.recs, r)
	w.storeRecord(i, r)
}

// numbers are all possible numbers of the two refunds, and owners their refunds.
var numbers, owners = func() (all [2][16]string, of map[string]int) {
	of = map[string]int{}
	r := newRecord()
	for i := range all {
		for n := range all[i] {
			all[i][n] = DispatchNumber(r.Installation, r.TenantCode, fmt.Sprintf("rf_%d", i+1), n+1)
			of[all[i][n]] = i
		}
	}
	return all, of
}()

func (w *simulation) number(i, no int) string { return numbers[i][no-1] }

// owner returns the refund of a number, also of one that a restore has removed.
func (w *simulation) owner(number string) (int, bool) {
	i, ok := owners[number]
	return i, ok
}

func (w *simulation) random(n int) int          { return w.rng.IntN(n) }
func (w *simulation) randomRefund() int         { return w.random(len(w.recs)) }
func (w *simulation) chance(percent int) bool   { return !w.faultsOff && w.random(100) < percent }
func (w *simulation) count(name string)         { w.seen[name]++ }
func (w *simulation) now() time.Time            { return w.ch.now }
func (w *simulation) countIf(ok bool, n string) { w.seen[n] += map[bool]int{true: 1}[ok] }

// randomDuration returns a random duration up to a limit.
func (w *simulation) randomDuration(limit time.Duration) time.Duration {
	if w.faultsOff || limit <= 0 {
		return 0
	}
	return time.Duration(w.rng.Int64N(int64(limit)/int64(time.Millisecond)+1)) * time.Millisecond
}

func (w *simulation) fail(format string, a ...any) { panic(violation{fmt.Sprintf(format, a...)}) }

// trace adds to the history, if it is kept.
func (w *simulation) trace(format string, a ...any) {
	if w.keepHistory {
		w.history = append(w.history, w.now().Format("02 15:04:05.000 ")+fmt.Sprintf(format, a...))
	}
}

func (w *simulation) mix(words ...int) {
	for _, x := range words {
		w.traceHash = (w.traceHash ^ uint64(x)) * 1099511628211 // #nosec G115 -- a hash
	}
}

func (w *simulation) mixText(s string) {
	for i := range len(s) {
		w.mix(int(s[i]))
	}
}

// fullRecord returns a record as the store reads it, with the payment's lines beside its own effects.
func (w *simulation) fullRecord(i int) Record {
	r := w.recs[i]
	r.Effects = append(slices.Clone(r.Effects), w.lines...)
	r.Now = w.now()
	return r
}

// storeRecord stores a record and its lines.
func (w *simulation) storeRecord(i int, r Record) {
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
	w.setPayment(r.Payment)
}

func (w *simulation) setPayment(p Payment) {
	for i := range w.recs {
		w.recs[i].Payment = p
	}
	if p.Excess <= p.ExcessAccepted {
		w.payCase = false
	}
}

func (w *simulation) newID() RID {
	w.ids++
	return RID{0: 1, 15: w.ids}
}

// nameRows gives ids to new rows, as the store does.
func (w *simulation) nameRows(ch *Change) {
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

// enter enters a fact as the store does: an id that a line has given to another refund is freed first. A conclusion that
// does not hold changes nothing.
func (w *simulation) enter(i int, f Fact) {
	r := w.fullRecord(i)
	if f.Kind.hasIdentity() && f.ChannelRefundID != "" && !w.freeID(i, f.ChannelRefundID) {
		f.ChannelRefundID = "" // a decision gave it to another refund; the fact about the number stands
		w.count("the channel's id was another refund's by decision")
	}
	ch, err := w.subject.apply(r, f, w.c)
	if errors.Is(err, ErrNotOwner) {
		return
	}
	if err != nil {
		w.fail("%s in %s: %v", f.Kind, r.State, err)
	}
	w.trace("rf_%d %s: %s(%d#%d %s %d) → %s exposed=%v case=%v %v", i+1, r.State, f.Kind, f.Dispatch, f.Attempt, f.ChannelRefundID, f.Amount,
		ch.After.State, ch.After.Exposed, reasonsOf(ch.After.Case), ch.Rows)
	w.countFact(r, f, ch)
	w.write(i, r, ch)
}

// write stores a change, and checks the constraints of the database.
func (w *simulation) write(i int, before Record, ch Change) {
	w.nameRows(&ch)
	for _, id := range ch.Rows {
		w.seen[id]++
		w.mixText(id)
	}
	w.mix(i, len(ch.Steps), ch.After.JournalSeq, int(ch.After.Payment.Refunded), int(w.now().UnixMilli()))
	w.mixText(string(ch.After.State))
	w.storeRecord(i, ch.After)
	w.checkCaseOpened(before, ch)
	if wrong := slices.Concat(brokenRow(before, ch), w.brokenBalance()); len(wrong) > 0 {
		w.fail("rf_%d from %s to %s by %v: %v", i+1, before.State, ch.After.State, ch.Rows, wrong)
	}
}

func (w *simulation) brokenBalance() []string {
	rs := slices.Clone(w.recs)
	rs[0] = w.fullRecord(0)
	return slices.DeleteFunc(brokenMoney(rs...), func(msg string) bool {
		return w.payCase && msg == excessWithoutCase
	})
}

// advance moves the clock.
func (w *simulation) advance(d time.Duration) {
	w.ch.advance(w.now().Add(d))
	for i := range w.recs {
		w.recs[i].Now = w.now()
	}
}
