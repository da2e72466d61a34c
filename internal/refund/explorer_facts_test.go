package refund

import (
	"fmt"
	"time"
)

// answersFor returns the possible answers of an attempt.
func answersFor(a Attempt) []Answer {
	out := []Answer{{Kind: Succeeded, ChannelRefundID: "A", Amount: 1000, Currency: "USD"}, {Kind: Succeeded}, {Kind: Acknowledged},
		{Kind: Acknowledged, ChannelRefundID: "A"}, {Kind: FailedFinal}, {Kind: Reversed, ChannelRefundID: "A", Amount: 1000, Currency: "USD"},
		{Kind: RefusedClean}, {Kind: RefusedNewNumber}, {Kind: RefusedNewNumber, Code: "insufficient_balance"}, {Kind: RefusedEcho}, {Kind: Retryable}, {Kind: NotSent}, {Kind: Unknown}}
	if a.Kind != AttemptSend {
		out = append(out, Answer{Kind: NotFound})
	}
	return out
}

// possibleFacts returns all facts that may be entered in a state.
func (x *explorer) possibleFacts(n node) []Fact {
	var out []Fact
	for _, d := range n.r.Dispatches {
		for _, id := range []string{"", "A", "B"} {
			for _, m := range []Fact{{}, {Amount: 1000, Currency: "USD"}, {Amount: 999, Currency: "USD"}, {Amount: 1000, Currency: "EUR"}} {
				out = append(out, Fact{Kind: Succeeded, ChannelRefundID: id, Amount: m.Amount, Currency: m.Currency},
					Fact{Kind: Reversed, ChannelRefundID: id, Amount: m.Amount, Currency: m.Currency})
			}
			out = append(out, Fact{Kind: Acknowledged, ChannelRefundID: id}, Fact{Kind: FailedFinal, ChannelRefundID: id})
		}
		for i := range out {
			if out[i].Dispatch == 0 {
				out[i].Dispatch, out[i].Source = d.Ordinal, "notice"
			}
		}
		out = append(out, Fact{Kind: KeyExpired, Dispatch: d.Ordinal, Generation: n.r.Generation})
	}
	for _, g := range []int{n.r.Generation, n.r.Generation - 1} {
		out = append(out, Fact{Kind: LeaseEnd, Generation: g}, Fact{Kind: Settled, Generation: g},
			Fact{Kind: Deadline, Generation: g, Reason: CaseDeadline}, Fact{Kind: Deadline, Generation: g, Reason: CaseNoStep})
	}
	return append(out, Fact{Kind: EpochMark}, Fact{Kind: Withdrawn})
}

// checkAsked asks the channel once more, with or without an owner, now and when an absence would count, and enters every
// answer.
func (x *explorer) checkAsked(n node, draw uint32) {
	for _, d := range n.r.Dispatches {
		for _, at := range []time.Time{n.r.Now, later(n.r.Now, d.AbsenceCountsFrom.Add(time.Minute))} {
			r, no := ask(n.r, d.Ordinal, x.c, at)
			a, _ := r.Attempt(no)
			asked := node{r: r, path: fmt.Sprintf("%s check%d", n.path, d.Ordinal)}
			for i, ans := range answersFor(*a) {
				if ans.Kind == NotFound || (draw+uint32(i))%x.sampling.facts == 0 {
					x.applyAndCheck(asked, FactOf(*a, ans))
				}
			}
		}
	}
}

// checkAnswered enters another answer of an answered attempt.
func (x *explorer) checkAnswered(n node) {
	for _, a := range n.r.Attempts {
		if a.Answer != "" {
			x.applyAndCheck(n, FactOf(a, Answer{Kind: Succeeded, ChannelRefundID: "C"}))
			return
		}
	}
}

func amountText(f Fact) string {
	if f.Amount == 0 && f.Currency == "" {
		return ""
	}
	return fmt.Sprintf(" %d%s", f.Amount, f.Currency)
}
