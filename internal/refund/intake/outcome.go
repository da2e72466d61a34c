package intake

import "github.com/refundry/refundry/internal/refund"

// Verdict is the result of an intake's decision. Its codes are:
//
//	CONFLICT  idempotency-key-reused        the event id is bound to another type, refund or parameters
//	          refund-parameters-conflict    the refund id is bound to other parameters
//	          payment-parameters-conflict   the payment is stored with other parameters, or its reference is another payment's
//	REFUSED   tenant-closed                 binds nothing
//	          account-not-allowed, reference-not-allowed, order-mismatch, currency-mismatch, event-expired, amount-not-expressible,
//	          refund-window-closed, refund-count-exceeded, amount-exceeds-refundable
//	          in this order: the first that applies
//	WAITING   payment-unknown
//	          amount-exceeds-refundable     an event of a payment that is announced by captures; a later capture may suffice
//	BUSY      operation-in-progress
//	          account-not-configured        by this process; another one may know the account
type Verdict string

// Verdicts. Only the first four bind the event id.
const (
	Taken     Verdict = "TAKEN"      // new event, new refund (or capture)
	Replayed  Verdict = "REPLAYED"   // known, same parameters
	Conflict  Verdict = "CONFLICT"   // known, other parameters
	Refused   Verdict = "REFUSED"    // a business rule forbids it
	Waiting   Verdict = "WAITING"    // the payment, or enough of it, is not known yet
	Busy      Verdict = "BUSY"       // nothing was decided: a row stayed locked for too long, or this process does not know the account
	NotLocked Verdict = "NOT_LOCKED" // a lock was not obtained in this try; never returned by Door
)

// Causes of a replay, for the metric of duplicates.
const (
	CauseEvent   = "event"   // the same event id again
	CauseRefund  = "refund"  // another event id for a known refund (or capture)
	CauseSettled = "settled" // the parked row is settled already
)

// Outcome is the answer to one intake.
type Outcome struct {
	Verdict  Verdict
	Code     refund.Code    // Conflict, Refused, Waiting, Busy
	Fields   []string       // Conflict: JSON names of the differing fields, never their values
	Replayed bool           // a stored Conflict or Refused, returned again
	Cause    string         // Replayed: CauseEvent or CauseRefund
	Refund   *refund.Refund // Taken, or Replayed of a refund: its current state
}

// BusyError is the error of a Busy outcome for callers that repeat the request: refund.ErrBusy for a lock, else *refund.Problem.
func (o Outcome) BusyError() error {
	if o.Code == refund.CodeAccountNotConfigured {
		return &refund.Problem{Code: o.Code}
	}
	return refund.ErrBusy
}
