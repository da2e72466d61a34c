package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/refundry/refundry/internal/refund"
)

// callResult is the result of a call.
type callResult struct {
	facts    []refund.Fact         // the first completes the attempt; a list with several lines of our number has more
	others   []refund.ListedEffect // lines of a list with other numbers or none
	complete bool                  // the list is complete
	denied   bool                  // the channel refused the account's credentials
}

// found reports whether a list has the number that it was asked for.
func (a callResult) found() bool {
	return a.facts[0].Kind != refund.NotFound && a.facts[0].Kind != refund.Unknown
}

// answers makes the call and returns its answer as facts.
func answers(ctx context.Context, at refund.Attempt, req refund.Call, ch refund.Channel) (out callResult) {
	defer func() {
		if p := recover(); p != nil { // a bug of the client proves nothing
			out = callResult{}
			out.facts = []refund.Fact{refund.FactOf(at, refund.Answer{Kind: refund.Unknown, Rule: "client-panic", Code: fmt.Sprint(p)})}
		}
	}()
	out.facts = []refund.Fact{refund.FactOf(at, refund.Answer{Kind: refund.Unknown})}
	switch at.Kind {
	case refund.AttemptSend:
		a := ch.Refund(ctx, req)
		out.facts, out.denied = []refund.Fact{refund.FactOf(at, sendAnswer(a))}, a.Denied
	case refund.AttemptQuery:
		a := ch.Query(ctx, req)
		out.facts, out.denied = []refund.Fact{refund.FactOf(at, askAnswer(a))}, a.Denied
	case refund.AttemptList:
		lines, complete, ans := ch.List(ctx, req)
		refund.MarkConflicts(lines)
		complete = complete && !slices.ContainsFunc(lines, func(l refund.ListedEffect) bool { return l.Names.Conflict != "" })
		out.facts, out.complete, out.denied = listed(at, req.Number, lines, complete, ans), complete, ans.Denied
		for _, l := range lines {
			if l.Number != req.Number {
				out.others = append(out.others, l)
			}
		}
	}
	return out
}

// sendAnswer returns the answer to a send. A kind that cannot answer a send, such as NotFound, becomes Unknown.
func sendAnswer(a refund.Answer) refund.Answer {
	switch a.Kind {
	case refund.Succeeded, refund.Acknowledged, refund.FailedFinal, refund.Reversed, refund.RefusedClean, refund.RefusedEcho,
		refund.RefusedNewNumber, refund.Retryable, refund.NotSent:
	default:
		a.Kind = refund.Unknown
	}
	return a
}

// askAnswer returns the answer to a query or a list. A query that was refused or not sent proves nothing about the refund
// and becomes Unknown.
func askAnswer(a refund.Answer) refund.Answer {
	switch a.Kind {
	case refund.Succeeded, refund.Acknowledged, refund.FailedFinal, refund.Reversed, refund.NotFound:
	default:
		a.Kind = refund.Unknown
	}
	return a
}

// listed returns the facts of the lines with our number. A line is a fact even in an incomplete list; only a complete list
// proves an absence.
func listed(at refund.Attempt, number string, lines []refund.ListedEffect, complete bool, ans refund.Answer) []refund.Fact {
	var facts []refund.Fact
	for _, l := range lines {
		if l.Number != number {
			continue
		}
		a := askAnswer(refund.Answer{Kind: l.Status, ChannelRefundID: l.ChannelRefundID, Amount: l.Amount, Currency: l.Currency,
			Code: ans.Code, Names: l.Names, Rule: ans.Rule, Evidence: ans.Evidence})
		if a.Kind == refund.NotFound || l.Names.Conflict != "" { // a line cannot have this status, or contradicts itself
			a.Kind = refund.Unknown
		}
		if l.ChannelRefundID == ans.ChannelRefundID { // the answer describes this line
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
