package store

import (
	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
)

// enterPoints are the places of a fact's transaction: everything is written, and it is committed.
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
	default: // Unknown, and what time alone concludes
		return fault.AmbiguousWritten, fault.AmbiguousCommitted
	}
}
