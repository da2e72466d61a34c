package jobs

import (
	"context"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// CallLimiter delays calls before an attempt is stored for them.
type CallLimiter interface {
	// Admit reports whether a call to the account can be made now. If so, done is to be called once, with the kind of the
	// answer, or with "" when no call was made. Otherwise done is nil, and the refund waits for the given time and reason.
	Admit(account string) (done func(refund.FactKind), wait time.Duration, why refund.PendingReason)
}

// callIfAdmitted makes a call if the limiter admits it. Otherwise it only moves the refund's timer: there is no attempt and
// no claim.
func (r *Runner) callIfAdmitted(ctx context.Context, rec refund.Record, kind refund.AttemptKind, no int, ch refund.Channel, c refund.Contract) error {
	if r.cfg.CallLimiter == nil {
		return r.call(ctx, rec, kind, no, ch, c)
	}
	done, wait, why := r.cfg.CallLimiter.Admit(rec.Account)
	if done == nil {
		return r.cfg.Store.Reschedule(ctx, rec.RefundRef, rec.Generation, refund.Step{Kind: refund.StepWait, Until: rec.Now.Add(wait), Why: why})
	}
	recorded := &recordingChannel{Channel: ch}
	defer func() { done(recorded.kind) }()
	return r.call(ctx, rec, kind, no, recorded, c)
}

// recordingChannel records the kind of the answer to its one call. A list with lines counts as an answer, whatever it
// proves about our number.
type recordingChannel struct {
	refund.Channel
	kind refund.FactKind
}

func (l *recordingChannel) Refund(ctx context.Context, c refund.Call) refund.Answer {
	l.kind = refund.Unknown // remains if the client panics
	a := l.Channel.Refund(ctx, c)
	l.kind = a.Kind
	return a
}

func (l *recordingChannel) Query(ctx context.Context, c refund.Call) refund.Answer {
	l.kind = refund.Unknown
	a := l.Channel.Query(ctx, c)
	l.kind = a.Kind
	return a
}

func (l *recordingChannel) List(ctx context.Context, c refund.Call) ([]refund.ListedEffect, bool, refund.Answer) {
	l.kind = refund.Unknown
	lines, complete, a := l.Channel.List(ctx, c)
	if l.kind = a.Kind; len(lines) > 0 {
		l.kind = refund.Succeeded
	}
	return lines, complete, a
}
