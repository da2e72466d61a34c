package refund

import (
	"slices"
	"testing"
	"time"
)

// Planted bugs: copies of the table with rules removed or changed, or the real code with an altered record, fact or
// contract. Reference and invariants must find every one of them.

type applyFunc = func(Record, Fact, Contract) (Change, error)
type decideFunc = func(Record, Contract, time.Time) Step

// withoutRules is Apply with a table that lacks rules.
func withoutRules(ids ...string) applyFunc {
	return func(r Record, f Fact, c Contract) (Change, error) {
		return applyBy(slices.DeleteFunc(slices.Clone(stateTable), func(row rule) bool { return slices.Contains(ids, row.id) }), r, f, c)
	}
}

// withRule is Apply with a table in which one rule is changed.
func withRule(id string, change func(*rule)) applyFunc {
	rules := slices.Clone(stateTable)
	for i := range rules {
		if rules[i].id == id {
			change(&rules[i])
		}
	}
	return func(r Record, f Fact, c Contract) (Change, error) { return applyBy(rules, r, f, c) }
}

// altered is Apply with an altered input. Altered numbers and answered attempts are restored afterwards.
func altered(lens func(*Record, *Fact, *Contract)) applyFunc {
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

// keepLastSend makes every send of a number but its last one disproved: exposure as if only the last answer counted.
func keepLastSend(r *Record) {
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

type plantedBug struct {
	bug    string
	class  string          // the first class to try; "" = any
	start  func(*scenario) // start of the sequence; nil = nothing sent
	apply  applyFunc
	decide decideFunc

	disorder        bool   // shows in runs of disorder
	mistake         string // a bug of the simulation itself
	notInSimulation string // why the simulation does not find it; "" = it must
}

func plantedInEvidence() []plantedBug {
	return []plantedBug{
		{bug: "exposure follows the last answer", class: "replaying", apply: altered(func(r *Record, _ *Fact, _ *Contract) { keepLastSend(r) })},
		{bug: "an echo is a final refusal", apply: altered(func(_ *Record, f *Fact, _ *Contract) {
			if f.Kind == RefusedEcho {
				f.Kind = RefusedClean
			}
		})},
		{bug: "NotFound counts too early", apply: altered(func(r *Record, _ *Fact, c *Contract) {
			c.Query.VisibilityLag, c.List.VisibilityLag, c.Horizon = 0, 0, 1
			for i := range r.Dispatches {
				r.Dispatches[i].AbsenceCountsFrom = time.Time{}
			}
		})},
		{bug: "one NotFound is enough", apply: altered(func(_ *Record, _ *Fact, c *Contract) { c.Query.Readings, c.List.Readings = 1, 1 })},
		{bug: "NotFound after an acknowledgement is absence", apply: altered(func(r *Record, f *Fact, _ *Contract) {
			for i := range r.Dispatches {
				r.Dispatches[i].Acknowledged = r.Dispatches[i].Acknowledged && f.Kind != NotFound
			}
		})},
		{bug: "an answer is written twice", class: "notice-only", apply: altered(func(r *Record, f *Fact, _ *Contract) {
			if a, ok := r.Attempt(f.Attempt); ok {
				a.Answer = ""
			}
		})},
		{bug: "the generation fences nothing", notInSimulation: "the simulation enters its conclusions at once",
			apply: altered(func(r *Record, f *Fact, _ *Contract) { f.Generation = r.Generation })},
		{bug: "a known fact acts again", apply: altered(func(r *Record, _ *Fact, _ *Contract) { r.Facts = map[[32]byte]bool{} })},
	}
}

func plantedInDecide() []plantedBug {
	return []plantedBug{
		{bug: "an ambiguous send is repeated", decide: func(r Record, c Contract, now time.Time) Step {
			if r.State == StateUnknown && r.Case == nil {
				return Step{Kind: StepSend, Dispatch: r.DispatchNo}
			}
			return Decide(r, c, now)
		}},
		{bug: "a replay follows while the first send may be executed", class: "replaying", decide: func(r Record, c Contract, now time.Time) Step {
			c.Key.InFlightRefused = true
			return Decide(r, c, now)
		}},
		{bug: "an expired key is replayed", class: "replaying", decide: func(r Record, c Contract, now time.Time) Step {
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
		{bug: "an open proposal does not stop the send", decide: func(r Record, c Contract, now time.Time) Step {
			r.ProposalOpen = false
			return Decide(r, c, now)
		}},
		{bug: "an open ask does not stop the send", decide: func(r Record, c Contract, now time.Time) Step {
			r.AskNo = 0
			return Decide(r, c, now)
		}},
	}
}

// finds returns the class that finds the bug, and the message.
func (p plantedBug) finds(t *testing.T) (string, string) {
	names := []string{ProfileKeyedQueryable, "noticing", "replaying", "listing", ProfileBlind, "kept-after-2xx"}
	if p.class != "" {
		names = slices.Insert(names, 0, p.class)
	}
	for _, name := range names {
		x := newExplorer(t, classes(t)[name])
		x.sampling = sampling{all: 500, nodes: 24, opens: 2, facts: 2, states: 1500}
		x.until = 1
		if p.start != nil {
			s := newScenario(t, name)
			p.start(s)
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
