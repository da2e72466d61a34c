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
	order             *rand.Rand // of disorder and low balances alone
	c                 Contract
	ch                *simChannel
	recs              []Record // accepted ones, each with its own effects only
	lines             []Effect // of the payment, of no refund
	payCase           bool     // the payment's own case: excess without a refund that caused it
	decisions         [2]decisionState
	lineErrors        [2]bool      // a person said of a line that is the refund's own that it is not, or the other way round
	named             map[RID]bool // effects that were a line until a person named it
	unpaired          [2]bool      // the refund has lost an id from a line
	amounts           [2]int64
	backup            *simBackup
	epoch             int
	epochOpen         bool    // the epoch has not been ended: nothing is sent
	secondRequested   bool    // the second refund was requested, and is requested again until it is accepted
	breaksContract    bool    // the channel sometimes breaks its contract; its answers are booked all the same
	crosses           bool    // the channel sends notices that name two refunds
	oddReturn         [2]bool // a return of another amount than requested was told before its success
	lostAnswers       int     // percent of the answers that are lost
	amountMisreported bool    // it reported another amount than it moved, at least once
	faultsOff         bool    // no more faults: every answer is delivered and true
	disorder          bool    // most sends are refused, and answers come late and out of order
	ids               byte
	traceHash         uint64
	refusal           FactKind        // of a run of disorder: how most sends are refused
	spent             map[string]bool // numbers that the channel has said it does not take
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

	disorder bool // every run is one of disorder, else one in sixteen
}

// violation ends a run: a promise is broken.
type violation struct{ what string }

func newSimulation(seed uint64, c Contract, code implementation, seen map[string]int) *simulation {
	sim := &simulation{rng: rand.New(rand.NewPCG(seed, 0x5eed)), c: c, epoch: 1, backup: &simBackup{}, seen: seen, subject: code, named: map[RID]bool{},
		traceHash: 14695981039346656037} // #nosec G404 -- a story, from its seed
	sim.spent = map[string]bool{}
	sim.ch = &simChannel{c: c, now: day0, firstAnswers: map[string]simAnswer{}}
	sim.amounts = [][2]int64{{1000, 500}, {700, 700}, {1000, 300}}[sim.random(3)]
	sim.breaksContract, sim.lostAnswers = sim.random(5) == 0, []int{40, 40, 40, 85}[sim.random(4)]
	sim.crosses = seed%8 == 5
	sim.order = rand.New(rand.NewPCG(seed, 0xd150)) // #nosec G404 -- a story, from its seed
	if sim.order.IntN(16) == 0 || code.disorder {
		sim.disorder, sim.lostAnswers = true, 5
		sim.refusal = []FactKind{RefusedClean, RefusedNewNumber}[sim.order.IntN(2)]
	}
	sim.acceptRefund(Payment{Tenant: 1, PaymentID: "pay_1", Currency: "USD", Captured: []int64{1500, 4000, 4000}[sim.random(3)]})
	return sim
}

// acceptRefund accepts the next refund.
func (sim *simulation) acceptRefund(p Payment) {
	i := len(sim.recs)
	r := newRecord()
	r.RID[15], r.RefundID, r.Amount = byte(7+i), fmt.Sprintf("rf_%d", i+1), sim.amounts[i]
	r.Dispatches[0].Number = sim.number(i, 1)
	r.Now, r.CreatedAt, r.StateSince, r.Epoch = sim.ch.now, sim.ch.now, sim.ch.now, sim.epoch
	p.Reserved, p.Refunds = p.Reserved+r.Amount, i+1
	r.Payment, r.Effects = p.WithExcess(), slices.Clone(sim.lines)
	sim.recs = append(sim.recs, r)
	sim.storeRecord(i, r)
}

// numbers are all possible numbers of the two refunds, and owners their refunds.
var numbers, owners = func() (all [2][64]string, of map[string]int) {
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

func (sim *simulation) number(i, no int) string { return numbers[i][no-1] }

// owner returns the refund of a number, also of one that a restore has removed.
func (sim *simulation) owner(number string) (int, bool) {
	i, ok := owners[number]
	return i, ok
}

func (sim *simulation) random(n int) int          { return sim.rng.IntN(n) }
func (sim *simulation) randomRefund() int         { return sim.random(len(sim.recs)) }
func (sim *simulation) chance(percent int) bool   { return !sim.faultsOff && sim.random(100) < percent }
func (sim *simulation) count(name string)         { sim.seen[name]++ }
func (sim *simulation) now() time.Time            { return sim.ch.now }
func (sim *simulation) countIf(ok bool, n string) { sim.seen[n] += map[bool]int{true: 1}[ok] }

// randomDuration returns a random duration up to a limit.
func (sim *simulation) randomDuration(limit time.Duration) time.Duration {
	if sim.faultsOff || limit <= 0 {
		return 0
	}
	return time.Duration(sim.rng.Int64N(int64(limit)/int64(time.Millisecond)+1)) * time.Millisecond
}

func (sim *simulation) fail(format string, a ...any) { panic(violation{fmt.Sprintf(format, a...)}) }

// trace adds to the history, if it is kept.
func (sim *simulation) trace(format string, a ...any) {
	if sim.keepHistory {
		sim.history = append(sim.history, sim.now().Format("02 15:04:05.000 ")+fmt.Sprintf(format, a...))
	}
}

func (sim *simulation) mix(words ...int) {
	for _, x := range words {
		sim.traceHash = (sim.traceHash ^ uint64(x)) * 1099511628211 // #nosec G115 -- a hash
	}
}

func (sim *simulation) mixText(s string) {
	for i := range len(s) {
		sim.mix(int(s[i]))
	}
}

// fullRecord returns a record as the store reads it, with the payment's lines beside its own effects.
func (sim *simulation) fullRecord(i int) Record {
	r := sim.recs[i]
	r.Effects = append(slices.Clone(r.Effects), sim.lines...)
	r.Now, r.ProposalOpen = sim.now(), sim.proposalOpen(i)
	r.Siblings = nil
	for n := range sim.recs {
		if n != i {
			r.Siblings = append(r.Siblings, sim.recs[n])
		}
	}
	return r
}

// proposalOpen reports whether a proposal that stops sends is open. One that was made before the last journal row is void.
func (sim *simulation) proposalOpen(i int) bool {
	d := sim.decisions[i].proposal
	return d != nil && d.Action != ActionWait && d.JournalSeq == sim.recs[i].JournalSeq
}

// storeRecord stores a record and its lines.
func (sim *simulation) storeRecord(i int, r Record) {
	var own, lines []Effect
	for _, e := range r.Effects {
		if e.Ours {
			own = append(own, e)
		} else {
			lines = append(lines, e)
		}
	}
	r.Effects, r.Siblings, sim.lines, r.ProposalOpen = own, nil, lines, false
	sim.disownByMachine(&r)
	sim.recs[i] = r
	sim.setPayment(r.Payment)
}

func (sim *simulation) setPayment(p Payment) {
	for i := range sim.recs {
		sim.recs[i].Payment = p
	}
	if p.Excess <= p.ExcessAccepted {
		sim.payCase = false
	}
}

func (sim *simulation) newID() RID {
	sim.ids++
	return RID{0: 1, 15: sim.ids}
}

// nameRows gives ids to new rows, as the store does.
func (sim *simulation) nameRows(ch *Change) {
	for i := range ch.After.Effects {
		if ch.After.Effects[i].ID.IsZero() {
			ch.After.Effects[i].ID = sim.newID()
		}
	}
	if c := ch.After.Case; c != nil && c.ID.IsZero() {
		named := *c
		named.ID = sim.newID()
		ch.After.Case = &named
	}
}

// enter enters a fact as the store does: an id that a line has given to another refund is freed first. A conclusion that
// does not hold changes nothing.
func (sim *simulation) enter(i int, f Fact) {
	if sim.contradicts(i, f) {
		return
	}
	r := sim.fullRecord(i)
	if f.Kind.hasIdentity() && f.ChannelRefundID != "" && !sim.freeID(i, f.ChannelRefundID) {
		f.ChannelRefundID = "" // a decision gave it to another refund; the fact about the number stands
		sim.count("the channel's id was another refund's by decision")
	}
	ch, err := sim.subject.apply(r, f, sim.c)
	sim.forgetLine(&ch)
	if errors.Is(err, ErrNotOwner) {
		return
	}
	if err != nil {
		sim.fail("%s in %s: %v", f.Kind, r.State, err)
	}
	sim.trace("rf_%d %s: %s(%d#%d %s %d) → %s exposed=%v case=%v %v", i+1, r.State, f.Kind, f.Dispatch, f.Attempt, f.ChannelRefundID, f.Amount,
		ch.After.State, ch.After.Exposed, reasonsOf(ch.After.Case), ch.Rows)
	sim.countFact(r, f, ch)
	if slices.Contains(ch.Rows, "reversed/partial") && len(sim.recs[i].Effects) == 0 {
		sim.oddReturn[i] = true
	}
	if len(ch.After.Dispatches) > len(r.Dispatches) && !sim.backup.taken && sim.chance(50) {
		sim.backUp() // a restore may remove the new number
	}
	sim.write(i, r, ch)
}

// write stores a change, and checks the constraints of the database.
func (sim *simulation) write(i int, before Record, ch Change) {
	sim.nameRows(&ch)
	for _, id := range ch.Rows {
		sim.seen[id]++
		sim.mixText(id)
	}
	sim.mix(i, len(ch.Steps), ch.After.JournalSeq, int(ch.After.Payment.Refunded), int(sim.now().UnixMilli()))
	sim.mixText(string(ch.After.State))
	sim.storeRecord(i, ch.After)
	sim.checkCaseOpened(before, ch)
	sim.checkFailure(before, ch)
	sim.checkWaiting(before, ch)
	sim.checkIDs(before, ch)
	if wrong := slices.Concat(brokenRow(before, ch), sim.brokenBalance()); len(wrong) > 0 {
		sim.fail("rf_%d from %s to %s by %v: %v", i+1, before.State, ch.After.State, ch.Rows, wrong)
	}
}

func (sim *simulation) brokenBalance() []string {
	rs := slices.Clone(sim.recs)
	rs[0] = sim.fullRecord(0)
	return slices.DeleteFunc(brokenMoney(rs...), func(msg string) bool {
		return sim.payCase && msg == excessWithoutCase
	})
}

// advance moves the clock.
func (sim *simulation) advance(d time.Duration) {
	sim.ch.advance(sim.now().Add(d))
	for i := range sim.recs {
		sim.recs[i].Now = sim.now()
	}
}
