package jobs

import (
	"context"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// CallLimiter holds calls back before anything of them exists.
type CallLimiter interface {
	// Admit says whether a call to the account may be made now. done is then to be called once, with the answer's kind or
	// with "" when no call was made. Else done is nil: wait that long, for that reason.
	Admit(account string) (done func(refund.FactKind), wait time.Duration, why refund.PendingReason)
}

// admitted makes a call if the gate lets it through. Otherwise the refund waits: no attempt, no claim, only its timer.
func (r *Runner) admitted(ctx context.Context, rec refund.Record, kind refund.AttemptKind, no int, ch refund.Channel, c refund.Contract) error {
	if r.cfg.CallLimiter == nil {
		return r.call(ctx, rec, kind, no, ch, c)
	}
	done, wait, why := r.cfg.CallLimiter.Admit(rec.Account)
	if done == nil {
		return r.cfg.Store.Reschedule(ctx, rec.RefundRef, rec.Generation, refund.Step{Kind: refund.StepWait, Until: rec.Now.Add(wait), Why: why})
	}
	heard := &listening{Channel: ch}
	defer func() { done(heard.kind) }()
	return r.call(ctx, rec, kind, no, heard, c)
}

// listening remembers how the one call was answered. A list that came is an answer, whatever it says of our number.
type listening struct {
	refund.Channel
	kind refund.FactKind
}

func (l *listening) Refund(ctx context.Context, c refund.Call) refund.Answer {
	l.kind = refund.Unknown // stays if the client panics
	a := l.Channel.Refund(ctx, c)
	l.kind = a.Kind
	return a
}

func (l *listening) Query(ctx context.Context, c refund.Call) refund.Answer {
	l.kind = refund.Unknown
	a := l.Channel.Query(ctx, c)
	l.kind = a.Kind
	return a
}

func (l *listening) List(ctx context.Context, c refund.Call) ([]refund.ListedEffect, bool, refund.Answer) {
	l.kind = refund.Unknown
	lines, complete, a := l.Channel.List(ctx, c)
	if l.kind = a.Kind; len(lines) > 0 {
		l.kind = refund.Succeeded
	}
	return lines, complete, a
}
