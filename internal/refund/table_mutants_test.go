package refund

import (
	"slices"
	"testing"
	"time"
)

// Planted bugs: each one is a copy of the table with rows taken out or changed, or a lens through which the real code sees
// a record, a fact or a contract. Oracle and invariants must notice every one of them.

type applyFunc = func(Record, Fact, Contract) (Change, error)
type decideFunc = func(Record, Contract, time.Time) Step

// lacking is Apply on a table that lacks rows.
func lacking(ids ...string) applyFunc {
	return func(r Record, f Fact, c Contract) (Change, error) {
		return applyBy(slices.DeleteFunc(slices.Clone(stateTable), func(w rule) bool { return slices.Contains(ids, w.id) }), r, f, c)
	}
}

// instead is Apply on a table in which one row does something else.
func instead(id string, change func(*rule)) applyFunc {
	rules := slices.Clone(stateTable)
	for i := range rules {
		if rules[i].id == id {
			change(&rules[i])
		}
	}
	return func(r Record, f Fact, c Contract) (Change, error) { return applyBy(rules, r, f, c) }
}

// seen is Apply looking through a lens. What the lens hides of numbers and attempts is given back afterwards.
func seen(lens func(*Record, *Fact, *Contract)) applyFunc {
	return func(r Record, f Fact, c Contract) (Change, error) {
		blurred := clone(r)
		lens(&blurred, &f, &c)
		ch, err := Apply(blurred, f, c)
		ch.Before = r
		for i := range ch.After.Attempts {
			if a := &ch.After.Attempts[i]; i < len(r.Attempts) && r.Attempts[i].Answer != "" {
				*a = r.Attempts[i]
			}
		}
		for i, d := range r.Dispatches {
			if err == nil {
				after := &ch.After.Dispatches[i]
				after.AbsenceCountsFrom, after.Acknowledged = d.AbsenceCountsFrom, after.Acknowledged || d.Acknowledged
			}
		}
		return ch, err
	}
}

// forget hides every send of a number but its last one: exposure as if only the last answer counted.
func forget(r *Record) {
	last := map[int]int{}
	for i, a := range r.Attempts {
		if a.Kind == AttemptSend {
			last[a.DispatchNo] = i
		}
	}
	for i := range r.Attempts {
		if a := &r.Attempts[i]; a.Kind == AttemptSend && last[a.DispatchNo] != i && a.Answer != "" {
			a.Answer = NotSent
		}
	}
}

type planted struct {
	bug    string
	class  string       // where to look first; "" = anywhere
	from   func(*story) // how the story begins; nil = with nothing sent
	apply  applyFunc
	decide decideFunc

	mistake string // of the simulation's world
	unseen  string // why no story shows it; "" = one must
}

func plantedInEvidence() []planted {
	return []planted{
		{bug: "sticky exposure dropped", class: "replaying", apply: seen(func(r *Record, _ *Fact, _ *Contract) { forget(r) })},
		{bug: "echo refusal final", apply: seen(func(_ *Record, f *Fact, _ *Contract) {
			if f.Kind == RefusedEcho {
				f.Kind = RefusedClean
			}
		})},
		{bug: "NotFound counted too early", apply: seen(func(r *Record, _ *Fact, c *Contract) {
			c.Query.VisibilityLag, c.List.VisibilityLag, c.Horizon = 0, 0, 1
			for i := range r.Dispatches {
				r.Dispatches[i].AbsenceCountsFrom = time.Time{}
			}
		})},
		{bug: "one NotFound is enough", apply: seen(func(_ *Record, _ *Fact, c *Contract) { c.Query.Readings, c.List.Readings = 1, 1 })},
		{bug: "NotFound after Accepted is absence", apply: seen(func(r *Record, f *Fact, _ *Contract) {
			for i := range r.Dispatches {
				r.Dispatches[i].Acknowledged = r.Dispatches[i].Acknowledged && f.Kind != NotFound
			}
		})},
		{bug: "an answer is written twice", apply: seen(func(r *Record, f *Fact, _ *Contract) {
			if a, ok := r.Attempt(f.Attempt); ok {
				a.Answer = ""
			}
		})},
		{bug: "the generation fences nothing", unseen: "a story enters its conclusions at once; under the lock they would be checked again", apply: seen(func(r *Record, f *Fact, _ *Contract) { f.Generation = r.Generation })},
		{bug: "a known fact acts again", apply: seen(func(r *Record, _ *Fact, _ *Contract) { r.Facts = map[[32]byte]bool{} })},
	}
}

func plantedInTable() []planted {
	release := mutation{"release", func(s *transition) { s.r.Payment.Reserved -= s.r.Amount }}
	mirrorAny := mutation{"mirror any", func(s *transition) {
		for i := range s.r.Effects {
			if e := &s.r.Effects[i]; e.Status == EffectMoved {
				e.Status, e.ReversedAt = EffectReversed, s.now
				s.r.Payment.Refunded -= e.Counted
				return
			}
		}
	}}
	renumber := mutation{"renumber", func(s *transition) {
		s.nextNumber()
		s.change.Retirements = nil
	}}
	return []planted{
		{bug: "late success dropped", apply: lacking("succeeded/late", "succeeded/late-dead")},
		{bug: "dead dispatch reverses", apply: instead("failed/closed", func(w *rule) { w.in, w.moves = states(StateSuccess), to(StateReversed, mirrorAny) })},
		{bug: "a second effect is not booked", apply: instead("succeeded/again", func(w *rule) { w.moves = stay(openMulti) })},
		{bug: "a second effect opens no case", apply: instead("succeeded/again", func(w *rule) { w.moves = stay(book) })},
		{bug: "a pair is booked twice", apply: lacking("succeeded/pair", "succeeded/pair-other")},
		{bug: "doubt gives the amount back", apply: instead("unknown", func(w *rule) { w.moves = to(StateUnknown, release) })},
		{bug: "a lease's end means not done", apply: instead("lease-end", func(w *rule) { w.moves = to(StatePending) })},
		{bug: "a late negative overtakes the newer send", unseen: "exposure is folded from sends, so it only comes early to UNKNOWN", class: "listing", from: aNewerSendIsOpen, apply: lacking("refused/older", "retryable/older", "not_sent/older", "refused_new_number/older")},
		{bug: "Retryable while exposed goes back to PENDING", apply: instead("retryable/exposed", func(w *rule) { w.moves = to(StatePending) })},
		{bug: "a refused question moves the refund", unseen: "exposure is folded from sends, so it only changes the state's name", apply: lacking("refused/asked", "retryable/asked", "not_sent/asked")},
		{bug: "Accepted after FAILED is ignored", unseen: "the exposure alone calls a person", apply: lacking("acknowledged/late")},
		{bug: "Accepted while PENDING lets the send go", apply: lacking("acknowledged/pending")},
		{bug: "a return before its success is dropped", apply: lacking("reversed/open")},
		{bug: "a partial return is mirrored in full", unseen: "a story's channel returns all or nothing", apply: lacking("reversed/partial", "reversed/partial-pending")},
		{bug: "a return of one effect undoes both", unseen: "two effects of a refund are too rare in stories", class: "noticing", from: twoEffects, apply: lacking("reversed/one-of-two")},
		{bug: "the next number needs no death", apply: instead("refused_new_number/first", func(w *rule) { w.moves = to(StatePending, renumber) })},
		{bug: "an epoch mark spares what is PENDING", apply: lacking("epoch/pending")},
		{bug: "an ask is never answered", apply: lacking("absent/ask", "failed/ask")},
		{bug: "cancel after an open ask", apply: instead("withdrawn", func(w *rule) { w.when = when(clear) })},
		{bug: "a known end is sent again", apply: lacking("settled/negative", "failed/live")},
	}
}

// aNewerSendIsOpen: the first send stays silent, its absence is proven, the second one is on its way.
func aNewerSendIsOpen(s *story) {
	s.send()
	s.after(leaseTime)
	s.conclude(LeaseEnd, "")
	s.r.Now = s.r.Dispatches[0].AbsenceCountsFrom
	s.says(s.query(1), NotFound)
	s.send()
}

func twoEffects(s *story) {
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "A"})
	s.notice(Succeeded, 1, "B")
}

// aPersonKnewBetter: a silent send, and a person who says that it did happen.
func aPersonKnewBetter(s *story) {
	s.send()
	s.after(leaseTime)
	s.conclude(LeaseEnd, "")
	s.confirmSuccess()
}

// aSecondNumberWaits: the first number was refused, the second may be sent again while its key lives.
func aSecondNumberWaits(s *story) {
	s.says(s.send(), RefusedNewNumber)
	s.says(s.send(), Retryable)
}

// twoNumbersInDoubt: the first number was refused, the second is on its way when a restore puts both in doubt.
func twoNumbersInDoubt(s *story) {
	s.says(s.send(), RefusedNewNumber)
	s.send()
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.after(10 * time.Minute)
	s.r.LeaseEndsAt = time.Time{}
}

// anEndIsKnownTooEarly: the second number has paid, and the first has ended, while a send that a restore has cut off may still act.
func anEndIsKnownTooEarly(s *story) {
	s.says(s.send(), RefusedNewNumber)
	second := s.send()
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.says(second, Succeeded)
	s.notice(FailedFinal, 1, "")
}

func plantedInDecide() []planted {
	return []planted{
		{bug: "doubt is sent again", decide: func(r Record, c Contract, now time.Time) Step {
			if r.State == StateUnknown && r.Case == nil {
				return Step{Kind: StepSend, Dispatch: r.DispatchNo}
			}
			return Decide(r, c, now)
		}},
		{bug: "a twin follows while the first may act", class: "replaying", decide: func(r Record, c Contract, now time.Time) Step {
			c.Key.InFlightRefused = true
			return Decide(r, c, now)
		}},
		{bug: "a dead key is replayed", class: "replaying", decide: func(r Record, c Contract, now time.Time) Step {
			r.Dispatches = slices.Clone(r.Dispatches)
			for i := range r.Dispatches {
				r.Dispatches[i].KeyExpiresAt = time.Time{}
			}
			c.Key.Lifetime = 0
			return Decide(r, c, now)
		}},
		{bug: "a case does not stop the send", decide: func(r Record, c Contract, now time.Time) Step {
			r.Case = nil
			return Decide(r, c, now)
		}},
		{bug: "an open ask does not stop the send", decide: func(r Record, c Contract, now time.Time) Step {
			r.AskNo = 0
			return Decide(r, c, now)
		}},
	}
}

// finds says whether some class notices the bug, and by which sentence.
func (p planted) finds(t *testing.T) (string, string) {
	names := []string{ProfileKeyedQueryable, "noticing", "replaying", "listing", ProfileBlind, "kept-after-2xx"}
	if p.class != "" {
		names = slices.Insert(names, 0, p.class)
	}
	for _, name := range names {
		x := newExplorer(t, classes(t)[name])
		x.share = share{all: 500, nodes: 24, opens: 2, facts: 2, states: 1500}
		x.until = 1
		if p.from != nil {
			s := tell(t, name)
			p.from(s)
			x.starts = []Record{s.r}
		}
		if p.apply != nil {
			x.apply = p.apply
		}
		if p.decide != nil {
			x.decide = p.decide
		}
		x.run()
		if x.failures > 0 {
			return name, x.firstFail
		}
	}
	return "", ""
}

func TestPlantedBugsAreFound(t *testing.T) {
	t.Parallel()
	for _, p := range slices.Concat(plantedInEvidence(), plantedInTable(), plantedInDecide()) {
		t.Run(p.bug, func(t *testing.T) {
			t.Parallel()
			class, by := p.finds(t)
			if by == "" {
				t.Fatalf("nothing noticed the planted bug %q", p.bug)
			}
			t.Logf("%s: %s", class, by)
		})
	}
}
