package refund

import (
	"fmt"
	"time"
)

// grow adds every successor of a state.
func (x *explorer) grow(n node) {
	x.growAnswers(n)
	x.growStep(n)
	x.growClock(n)
	if n.extras < x.maxExtra {
		x.growExtras(n)
	}
	x.growPeople(n)
}

// growAnswers enters every answer of every silent attempt, within its owner's time or later.
func (x *explorer) growAnswers(n node) {
	for _, a := range n.r.Attempts {
		if a.Answer != "" {
			continue
		}
		for _, ans := range answersFor(a) {
			if r, ok := x.applyAndCheck(n, FactOf(a, ans)); ok {
				x.push(node{r: r, path: fmt.Sprintf("%s %d=%s%s", n.path, a.No, ans.Kind, ans.ChannelRefundID), extras: n.extras, waits: n.waits})
			}
		}
	}
}

// growStep makes the step of Decide, as long as calls are left.
func (x *explorer) growStep(n node) {
	step := x.decide(n.r, x.c, n.r.Now)
	sends, asks := calls(n.r)
	next := n
	switch step.Kind {
	case StepSend, StepQuery, StepList:
		kind := map[StepKind]AttemptKind{StepSend: AttemptSend, StepQuery: AttemptQuery, StepList: AttemptList}[step.Kind]
		if (kind == AttemptSend && sends >= maxSends) || (kind != AttemptSend && asks >= maxAsks) {
			return
		}
		r, no, ok := claim(n.r, kind, step.Dispatch, x.c, n.r.Now)
		if n.r.State.Final() { // a final state has no owner
			r, no = ask(n.r, step.Dispatch, x.c, n.r.Now)
			ok = kind != AttemptSend
		}
		if !ok {
			x.fail(n.path, fmt.Sprintf("Decide returns %+v but there is no such claim", step))
			return
		}
		next.r, next.path = r, fmt.Sprintf("%s %s%d#%d", n.path, kind, step.Dispatch, no)
	case StepWait:
		if !step.Until.After(n.r.Now) {
			if n.r.State != StateProcessing {
				x.fail(n.path, fmt.Sprintf("Decide waits until %v, it is %v", step.Until, n.r.Now))
			}
			return
		}
		if n.waits >= 4 {
			return
		}
		next.r.Now, next.waits, next.path = step.Until, n.waits+1, n.path+" wait"
	case StepOpenCase, StepSettle, StepRetireKey:
		f := conclusionOf(step, n.r.Generation)
		r, ok := x.applyAndCheck(n, f)
		if !ok {
			return
		}
		if again := x.decide(r, x.c, r.Now); again == step {
			x.fail(n.path, fmt.Sprintf("after %s Decide returns the same again: %+v", f.Kind, step))
		}
		next.r, next.path = r, n.path+" "+string(step.Kind)
	default:
		return
	}
	x.push(next)
}

// growClock ends the lease, and jumps to the times that matter: an absence counts, the key expires.
func (x *explorer) growClock(n node) {
	if n.r.State == StateProcessing {
		late := n
		late.r.Now = later(n.r.Now, n.r.LeaseEndsAt)
		if r, ok := x.applyAndCheck(late, Fact{Kind: LeaseEnd, Generation: n.r.Generation, Source: "sweeper"}); ok {
			x.push(node{r: r, path: n.path + " lease-end", extras: n.extras, waits: n.waits})
		}
	}
	for _, d := range n.r.Dispatches {
		for _, t := range []time.Time{d.AbsenceCountsFrom, d.KeyExpiresAt} {
			if t.After(n.r.Now) && n.waits < 4 && n.r.State != StateProcessing {
				jump := n
				jump.r.Now, jump.waits, jump.path = t, n.waits+1, n.path+" later"
				x.push(jump)
			}
		}
	}
}

// growExtras adds notices, epoch marks and cancels.
func (x *explorer) growExtras(n node) {
	for _, f := range []Fact{
		{Kind: Succeeded, ChannelRefundID: "A", Source: "notice"}, {Kind: Succeeded, Source: "notice"},
		{Kind: Acknowledged, Source: "notice"}, {Kind: FailedFinal, Source: "notice"}, {Kind: FailedFinal, ChannelRefundID: "A", Source: "notice"},
		{Kind: Reversed, ChannelRefundID: "A", Source: "notice"}, {Kind: Reversed, ChannelRefundID: "A", Amount: 999, Currency: "USD",
			Source: "notice"}, {Kind: EpochMark, Source: "epoch"}, {Kind: Withdrawn, Source: "cancel"},
	} {
		for _, d := range n.r.Dispatches {
			if f.Dispatch = d.Ordinal; (f.Kind == EpochMark || f.Kind == Withdrawn) && d.Ordinal > 1 {
				continue
			}
			if r, ok := x.applyAndCheck(n, f); ok {
				x.push(node{r: r, path: fmt.Sprintf("%s !%s%d%s", n.path, f.Kind, d.Ordinal, f.ChannelRefundID), extras: n.extras + 1, waits: n.waits})
			}
		}
	}
}

func (x *explorer) growPeople(n node) {
	if n.r.State.Final() && n.r.Case != nil && !n.r.Exposed {
		x.push(node{r: afterAcceptance(n.r), path: n.path + " acknowledged!", extras: n.extras, waits: n.waits})
	}
	if n.extras >= x.maxExtra || !has(states(StateUnknown, StateAccepted), n.r.State) {
		return
	}
	n.r.Now = actsUntil(n.r, x.c) // a decision takes effect only when no request can be executed any more
	add := func(what string, r Record, extra int) {
		x.push(node{r: r, path: n.path + " " + what, extras: n.extras + extra, waits: n.waits})
	}
	live, _ := n.r.Dispatch(n.r.DispatchNo)
	add("not-done!", afterNotDone(n.r), 0)
	if !live.Acknowledged && n.r.DispatchNo == 1 {
		add("resend!", afterResend(n.r), 0)
	}
	if live.FinalNegativeAt.IsZero() {
		if r, ok := x.applyAndCheck(n, confirmedSuccess(n.r)); ok {
			add("success!", r, 0)
			if !r.Exposed {
				add("revoke-confirmation!", afterRevocation(r), 0)
			}
		}
	}
}

func actsUntil(r Record, c Contract) time.Time {
	t := r.Now
	for _, a := range r.Attempts {
		t = later(t, later(a.NotAfter, r.LeaseEndsAt).Add(c.Horizon.D()))
	}
	for _, d := range r.Dispatches {
		t = later(t, d.LostSendUntil.Add(c.Horizon.D()))
	}
	return t
}

func conclusionOf(s Step, generation int) Fact {
	kind := map[StepKind]FactKind{StepOpenCase: Deadline, StepSettle: Settled, StepRetireKey: KeyExpired}[s.Kind]
	return Fact{Kind: kind, Dispatch: s.Dispatch, Generation: generation, Reason: s.Reason, Source: "worker"}
}

func calls(r Record) (sends, asks int) {
	for _, a := range r.Attempts {
		if a.Kind == AttemptSend {
			sends++
		} else {
			asks++
		}
	}
	return sends, asks
}
