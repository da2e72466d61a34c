package store

import (
	"time"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
)

// enterPoints are the fault points of a fact's transaction: after its last write, and after COMMIT.
func enterPoints(k refund.FactKind) (written, committed fault.Name) {
	switch k {
	case refund.Succeeded:
		return fault.SucceededWritten, fault.SucceededCommitted
	case refund.Acknowledged:
		return fault.AcceptedWritten, fault.AcceptedCommitted
	case refund.FailedFinal:
		return fault.FailedWritten, fault.FailedCommitted
	case refund.Reversed:
		return fault.ReversedWritten, fault.ReversedCommitted
	case refund.RefusedClean, refund.RefusedEcho, refund.RefusedNewNumber:
		return fault.RefusedWritten, fault.RefusedCommitted
	case refund.Retryable, refund.NotSent:
		return fault.RetryableWritten, fault.RetryableCommitted
	case refund.NotFound:
		return fault.AbsentWritten, fault.AbsentCommitted
	case refund.LeaseEnd:
		return fault.LeaseEndWritten, fault.LeaseEndCommitted
	case refund.Deadline:
		return fault.DeadlineWritten, fault.DeadlineCommitted
	default: // Unknown, and conclusions from time
		return fault.AmbiguousWritten, fault.AmbiguousCommitted
	}
}

// pointsWritten passes the fault points after the last write of a transaction.
func pointsWritten(places []fault.Name) {
	for _, written := range places {
		fault.Point(written)
	}
}

// pointsCommitted passes the fault points after COMMIT. Each is the number after its point of pointsWritten.
func pointsCommitted(places []fault.Name) {
	for _, written := range places {
		fault.Point(written + 1)
	}
}

// linePoint is the fault point of a change by a line.
func linePoint(ch refund.Change) fault.Name {
	if ch.After.RID.IsZero() || len(ch.Steps) == 0 {
		return fault.LineAloneWritten
	}
	switch ch.Steps[0].Entry.Kind {
	case "line_held":
		return fault.LineHeldWritten
	case "line_paired":
		return fault.LinePairedWritten
	default:
		return fault.LineSettledWritten
	}
}

// judgePoints are the fault points of a verdict that was given in this transaction.
func judgePoints(d refund.Decision, now time.Time) (places []fault.Name) {
	if !d.CheckedAt.Equal(now) {
		return nil // nothing was written, or the decision was void
	}
	if d.Verdict == refund.DecisionRejected {
		return []fault.Name{fault.RejectionWritten}
	}
	places = append(places, fault.ApprovalWritten)
	if d.AppliedAt.Equal(now) {
		places = append(places, fault.AppliedWritten)
	}
	return places
}
