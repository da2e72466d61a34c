package refund

import (
	"fmt"
	"testing"
	"time"
)

// Sets of attempts, built directly: up to three sends of one number with every answer that leaves the refund open, silence
// included, and absences at every time; then every late answer, in the state that the reference gives the set.

// askedSet is the questions after the sends: their answers, and whether they left when an absence counts.
type askedSet struct {
	answers []FactKind
	counts  bool
}

func askedSets() []askedSet {
	out := []askedSet{{}}
	for _, counts := range []bool{false, true} {
		for _, a := range [][]FactKind{{NotFound}, {NotFound, NotFound}, {NotFound, Unknown}, {"", NotFound}, {""}} {
			out = append(out, askedSet{a, counts})
		}
	}
	return out
}

// setOf builds the record. Sends are a minute apart, questions follow the last one.
func setOf(c Contract, sends []FactKind, asked askedSet) Record {
	r := newRecord()
	d := &r.Dispatches[0]
	now := day0
	add := func(kind AttemptKind, answer FactKind) {
		r.AttemptNo++
		r.Generation++
		a := Attempt{No: r.AttemptNo, DispatchNo: 1, Kind: kind, Epoch: 1, Generation: r.Generation, StartedAt: now, NotAfter: now.Add(sendWindow), Answer: answer}
		if answer != "" {
			a.AnsweredAt = now.Add(time.Second)
		}
		if kind == AttemptSend {
			if c.Key.Lifetime > 0 && d.KeyExpiresAt.IsZero() {
				d.KeyExpiresAt = now.Add(c.Key.Lifetime.D())
			}
			d.AbsenceCountsFrom = a.NotAfter.Add(c.Horizon.D() + c.questionTerms().VisibilityLag.D())
			d.Acknowledged = d.Acknowledged || answer == Acknowledged
			if answer == FailedFinal {
				d.FinalNegativeAt = a.AnsweredAt
				r.Facts[FactKey(d.Number, string(FailedFinal), "", 0, "")] = true
			}
		}
		r.Attempts = append(r.Attempts, a)
	}
	for i, k := range sends {
		now = day0.Add(time.Duration(i) * time.Minute)
		add(AttemptSend, k)
	}
	now = now.Add(time.Second)
	if asked.counts {
		now = d.AbsenceCountsFrom
	}
	kind := AttemptQuery
	if !c.Query.Exists {
		kind = AttemptList
	}
	for _, k := range asked.answers {
		add(kind, k)
		now = now.Add(time.Second)
	}
	r.Now = now
	return stateOf(r, c)
}

// stateOf returns the set in the state that it must have.
func stateOf(r Record, c Contract) Record {
	o := newReference(r, Fact{}, c)
	d := &r.Dispatches[0]
	d.Exposed = o.exposedNo(1)
	r.Exposed = d.Exposed
	last := r.Attempts[len(r.Attempts)-1]
	switch {
	case d.Exposed && d.Acknowledged:
		r.State = StateAccepted
	case d.Exposed && last.Kind == AttemptSend && last.Answer == "" && len(r.Attempts) == 1:
		r.State, r.LeaseEndsAt = StateProcessing, last.StartedAt.Add(leaseTime)
	case d.Exposed:
		r.State = StateUnknown
	case !d.FinalNegativeAt.IsZero():
		r.State, r.FinalAt = StateFailed, r.Now
		r.Payment.Reserved, r.NextActionAt = 0, time.Time{}
	}
	if r.State != StatePending {
		r.PendingReason = ""
	}
	return r
}

func TestEverySetOfAttempts(t *testing.T) {
	t.Parallel()
	answers := []FactKind{"", Acknowledged, FailedFinal, RefusedClean, RefusedNewNumber, RefusedEcho, Retryable, NotSent, Unknown}
	var sets [][]FactKind
	for _, a := range answers {
		sets = append(sets, []FactKind{a})
		for _, b := range answers {
			sets = append(sets, []FactKind{a, b})
			for _, c := range answers {
				sets = append(sets, []FactKind{a, b, c})
			}
		}
	}
	for name, c := range classes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newExplorer(t, c)
			made := 0
			for i, sends := range sets {
				for j, asked := range askedSets() {
					if (i+j)%8 != 0 && len(sends) == maxSends && !*exhaustive {
						continue // one in eight of the longest sets
					}
					made++
					x.judgeSet(node{r: setOf(c, sends, asked), path: fmt.Sprintf("%v %v", sends, asked)})
				}
			}
			t.Logf("%d sets, %d facts checked", made, x.applied)
			if x.failures > 0 {
				t.Errorf("%d disagreements, the first: %s", x.failures, x.firstFail)
			}
		})
	}
}

func (x *explorer) judgeSet(n node) {
	x.checkStep(n)
	for _, a := range n.r.Attempts {
		if a.Answer != "" {
			continue
		}
		for _, ans := range answersFor(a) {
			x.applyAndCheck(n, FactOf(a, ans))
		}
	}
	for _, f := range []Fact{{Kind: FailedFinal, Source: "notice"}, {Kind: Acknowledged, Source: "notice"}, {Kind: Succeeded, Source: "notice"},
		{Kind: Settled, Generation: n.r.Generation}, {Kind: EpochMark}} {
		x.applyAndCheck(n, f)
	}
}
