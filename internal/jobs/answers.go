package jobs

import (
	"context"
	"fmt"

	"github.com/refundry/refundry/internal/refund"
)

// answered is what a call brought.
type answered struct {
	facts    []refund.Fact         // the first completes the attempt; more come only from a list that has several lines under our number
	others   []refund.ListedEffect // lines of a list that do not carry the number that was asked about
	complete bool                  // the list had everything
}

// found says whether a list had the number that was asked about.
func (a answered) found() bool {
	return a.facts[0].Kind != refund.NotFound && a.facts[0].Kind != refund.Unknown
}

// answers makes the call and turns what comes back into facts.
func answers(ctx context.Context, at refund.Attempt, req refund.Call, ch refund.Channel) (out answered) {
	defer func() {
		if p := recover(); p != nil { // a client's bug proves nothing about the channel
			out = answered{}
			out.facts = []refund.Fact{refund.FactOf(at, refund.Answer{Kind: refund.Unknown, Rule: "client-panic", Code: fmt.Sprint(p)})}
		}
	}()
	out.facts = []refund.Fact{refund.FactOf(at, refund.Answer{Kind: refund.Unknown})}
	switch at.Kind {
	case refund.AttemptSend:
		out.facts = []refund.Fact{refund.FactOf(at, sendAnswer(ch.Refund(ctx, req)))}
	case refund.AttemptQuery:
		out.facts = []refund.Fact{refund.FactOf(at, askAnswer(ch.Query(ctx, req)))}
	case refund.AttemptList:
		lines, complete, ans := ch.List(ctx, req)
		out.facts, out.complete = listed(at, req.Number, lines, complete, ans), complete
		for _, l := range lines {
			if l.Number != req.Number {
				out.others = append(out.others, l)
			}
		}
	}
	return out
}

// sendAnswer lets through what an answer to a send can be. Everything else, "not found" included, proves nothing.
func sendAnswer(a refund.Answer) refund.Answer {
	switch a.Kind {
	case refund.Succeeded, refund.Acknowledged, refund.FailedFinal, refund.Reversed, refund.RefusedClean, refund.RefusedEcho,
		refund.RefusedNewNumber, refund.Retryable, refund.NotSent:
	default:
		a.Kind = refund.Unknown
	}
	return a
}

// askAnswer lets through what an answer to a question can say of the number. That the question itself was refused or did not leave says
// nothing of the refund.
func askAnswer(a refund.Answer) refund.Answer {
	switch a.Kind {
	case refund.Succeeded, refund.Acknowledged, refund.FailedFinal, refund.Reversed, refund.NotFound:
	default:
		a.Kind = refund.Unknown
	}
	return a
}

// listed matches a list by our number only. A line that is there is a fact even in an incomplete list; absence needs a complete one.
func listed(at refund.Attempt, number string, lines []refund.ListedEffect, complete bool, ans refund.Answer) []refund.Fact {
	var facts []refund.Fact
	for _, l := range lines {
		if l.Number != number {
			continue
		}
		a := askAnswer(refund.Answer{Kind: l.Status, ChannelRefundID: l.ChannelRefundID, Amount: l.Amount, Currency: l.Currency,
			Code: ans.Code, Rule: ans.Rule, Evidence: ans.Evidence})
		if a.Kind == refund.NotFound { // no status of a line
			a.Kind = refund.Unknown
		}
		if l.ChannelRefundID == ans.ChannelRefundID { // the answer tells of one line
			a.Voucher = ans.Voucher
		}
		f := refund.FactOf(at, a)
		if len(facts) > 0 {
			f.Attempt, f.Evidence = 0, nil
		}
		facts = append(facts, f)
	}
	if len(facts) > 0 {
		return facts
	}
	ans.Kind, ans.ChannelRefundID, ans.Amount, ans.Currency = refund.Unknown, "", 0, ""
	if complete {
		ans.Kind = refund.NotFound
	}
	return []refund.Fact{refund.FactOf(at, ans)}
}
