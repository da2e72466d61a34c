package refund

import (
	"fmt"
	"slices"
)

var madeTransitions = Transitions()

const excessWithoutCase = "excess above what was accepted without a case"

// broken returns the promises that a change breaks. Each of them is also a constraint or a trigger of the migrations.
func broken(before Record, ch Change) []string {
	return append(brokenRow(before, ch), brokenMoney(ch.After)...)
}

// brokenRow checks the refund alone; its payment may have others.
func brokenRow(before Record, ch Change) []string {
	var out []string
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	r := ch.After
	exposed := false
	for _, d := range r.Dispatches {
		exposed = exposed || d.Exposed
		if d.Exposed && d.Overridden {
			say("dispatches_override_ck: dispatch %d is exposed and overridden", d.Ordinal)
		}
	}
	if r.Exposed != exposed {
		say("refund says exposed=%v, its dispatches say %v", r.Exposed, exposed)
	}
	if idle := r.State.Final() && !r.Exposed && r.Case == nil; idle != r.NextActionAt.IsZero() {
		say("refunds_timer_ck: idle=%v but the timer is %v", idle, r.NextActionAt)
	}
	if r.State.Final() == r.FinalAt.IsZero() {
		say("refunds_final_ck: %s with final_at %v", r.State, r.FinalAt)
	}
	if r.State.Final() && !r.LeaseEndsAt.IsZero() {
		say("refunds_final_lease_ck: a lease on %s", r.State)
	}
	if r.State == StateProcessing && r.LeaseEndsAt.IsZero() {
		say("refunds_lease_ck: PROCESSING without a lease")
	}
	switch {
	case r.Exposed && !r.State.MayBeExposed(r.Case != nil):
		say("refunds_exposed_ck: %s exposed with case %v", r.State, reasonsOf(r.Case))
	case !r.Exposed && r.State.MustBeExposed():
		say("refunds_exposed_ck: %s with nothing exposed", r.State)
	}
	if r.State != StatePending && (r.PendingReason != "" || r.AskNo != 0) {
		say("refunds_pending_ck: %s with pending reason %q and ask %d", r.State, r.PendingReason, r.AskNo)
	}
	if r.State == StatePending && r.PendingReason == "" {
		say("PENDING without a reason")
	}
	if r.Case != nil && len(r.Case.Reasons) == 0 {
		say("cases_reasons_ck: a case without a reason")
	}
	if ch.CaseClosed != nil && before.Case == nil {
		say("a case is closed that was never open")
	}
	out = append(out, brokenSteps(before, ch)...)
	return append(out, brokenNumbers(before, ch)...)
}

// brokenSteps checks every written row of the refund, in order.
func brokenSteps(before Record, ch Change) []string {
	var out []string
	state, seq := before.State, before.JournalSeq
	for i, s := range ch.Steps {
		e := s.Entry
		if e.From != state || e.To != s.Row.State {
			out = append(out, fmt.Sprintf("step %d is written as %s>%s, the row went %s>%s", i, e.From, e.To, state, s.Row.State))
		}
		if e.From != e.To && !slices.Contains(madeTransitions, string(e.From)+">"+string(e.To)) {
			out = append(out, fmt.Sprintf("refunds_transition: %s>%s is not in the list", e.From, e.To))
		}
		if s.Row.JournalSeq != seq+1 || s.Row.Generation != before.Generation {
			out = append(out, fmt.Sprintf("refunds_fence: step %d has seq %d after %d", i, s.Row.JournalSeq, seq))
		}
		if e.From != e.To && s.Row.Exposed && !e.To.MayBeEnteredExposed() {
			out = append(out, fmt.Sprintf("refunds_entered_exposed: %s", e.To))
		}
		if s.Row.Exposed && !s.Row.State.MayBeExposed(s.Row.Case != nil) || !s.Row.Exposed && s.Row.State.MustBeExposed() {
			out = append(out, fmt.Sprintf("refunds_exposed_ck: step %d writes %s with exposed=%v", i, s.Row.State, s.Row.Exposed))
		}
		state, seq = e.To, s.Row.JournalSeq
	}
	if state != ch.After.State || seq != ch.After.JournalSeq {
		out = append(out, fmt.Sprintf("the journal ends at %s/%d, the row at %s/%d", state, seq, ch.After.State, ch.After.JournalSeq))
	}
	return out
}

// brokenMoney checks that the payment's balances are the sums of its refunds and effects.
func brokenMoney(rs ...Record) []string {
	var out []string
	reserved, refunded, held, cases := int64(0), int64(0), int64(0), 0
	var effects []Effect
	for _, r := range rs {
		if !r.State.Final() {
			reserved += r.Amount
		}
		if r.State.Final() && r.Exposed {
			held += r.Amount
		}
		if r.Case != nil {
			cases++
		}
		effects = append(effects, r.Effects...)
	}
	for _, e := range effects {
		switch e.Status {
		case EffectMoved:
			refunded += e.Counted
		case EffectHeld:
			if e.CoveredBy.IsZero() {
				held += e.Counted
			}
		}
		if (e.Status == EffectReversed) == e.ReversedAt.IsZero() {
			out = append(out, "effects_reversed_ck")
		}
	}
	p := rs[0].Payment
	if p.Reserved != reserved || p.Refunded != refunded || p.Held != held {
		out = append(out, fmt.Sprintf("counters: reserved %d refunded %d held %d, should be %d %d %d", p.Reserved, p.Refunded, p.Held, reserved, refunded, held))
	}
	if want := max(0, reserved+refunded+p.RefundedElsewhere+held-p.Captured); p.Excess != want {
		out = append(out, fmt.Sprintf("payments_excess_exact_ck: excess %d, should be %d", p.Excess, want))
	}
	if p.Excess > p.ExcessAccepted && cases == 0 {
		out = append(out, excessWithoutCase)
	}
	return append(out, brokenEffects(rs)...)
}

// brokenEffects checks that no channel id is used twice, and that no number has two standing effects of one id.
func brokenEffects(rs []Record) []string {
	var out []string
	seen := map[string]bool{}
	twice := func(constraint, key string) {
		if seen[key] {
			out = append(out, constraint+": "+key+" twice")
		}
		seen[key] = true
	}
	for _, r := range rs {
		for _, e := range r.Effects {
			if e.ChannelRefundID != "" && e.Status != EffectDropped {
				twice("effects_channel_uq", e.ChannelRefundID)
			}
			if e.Ours && e.Status == EffectMoved {
				twice("effects_dispatch_uq", fmt.Sprintf("%s/%d/%s", r.RID, e.DispatchNo, e.ChannelRefundID))
			}
		}
	}
	return out
}

// brokenNumbers checks that every number but the live one was retired with a proof, and that no key was extended.
func brokenNumbers(before Record, ch Change) []string {
	var out []string
	r := ch.After
	last := r.Dispatches[len(r.Dispatches)-1] // an epoch marks the number behind the live one, too
	if (r.DispatchNo != last.Ordinal && last.MarkedEpoch == 0) || r.DispatchNo < before.DispatchNo {
		out = append(out, fmt.Sprintf("dispatch_no is %d, numbers are %d", r.DispatchNo, len(r.Dispatches)))
	}
	if live, _ := before.Dispatch(before.DispatchNo); r.DispatchNo > before.DispatchNo && !live.Retired && len(ch.Retirements) != 1 {
		out = append(out, "dispatches_predecessor_retired_fk: a number whose predecessor is not retired")
	}
	for _, death := range ch.Retirements {
		d, ok := r.Dispatch(death.Dispatch)
		a, proven := r.Attempt(death.ProofAttempt)
		if !ok || d.Exposed || (d.MarkedEpoch == 0 && !death.ByDecision &&
			(!proven || a.DispatchNo != d.Ordinal || !(Disproves(a.Answer) || a.Answer == NotFound || a.Answer == FailedFinal))) {
			out = append(out, fmt.Sprintf("retired_dispatches_proof: dispatch %d, attempt %d", death.Dispatch, death.ProofAttempt))
		}
	}
	for _, d := range before.Dispatches {
		now, _ := r.Dispatch(d.Ordinal)
		if !d.KeyExpiresAt.IsZero() && (now.KeyExpiresAt.IsZero() || now.KeyExpiresAt.After(d.KeyExpiresAt)) {
			out = append(out, fmt.Sprintf("dispatches_times: the key of %d lives longer than fixed", d.Ordinal))
		}
		if d.Acknowledged && !now.Acknowledged {
			out = append(out, fmt.Sprintf("dispatches_acknowledged: %d", d.Ordinal))
		}
	}
	for _, e := range before.Effects {
		// the id of a line may move to the effect that it belongs to, or be a line again; only Unpair gives it to another refund
		moves := slices.Contains(ch.Rows, "line/line_unpaired") || slices.ContainsFunc(r.Effects, func(x Effect) bool { return x.ChannelRefundID == e.ChannelRefundID })
		found := false
		for _, x := range r.Effects {
			found = found || (x.At.Equal(e.At) && x.Amount == e.Amount && x.Counted == e.Counted && (e.ChannelRefundID == "" || moves))
		}
		if !found {
			out = append(out, fmt.Sprintf("effects_immutable: effect %+v vanished", e))
		}
	}
	return out
}
