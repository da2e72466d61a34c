package refund

import "errors"

// The few classes into which every error of a store or channel is translated at the edge.
var (
	// ErrUnavailable: the database cannot be reached or said "try later". Nothing was decided.
	ErrUnavailable = errors.New("refund: store unavailable")
	// ErrCommitUnknown: COMMIT was sent and its answer was lost. The transaction may or may not have
	// happened; only running the same transaction again tells.
	ErrCommitUnknown = errors.New("refund: outcome of commit unknown")
	// ErrOverloaded: the bounded queue in front of the door is full.
	ErrOverloaded = errors.New("refund: too many requests are waiting")
	// ErrNotOwner: a guarded write found another generation, state or journal position. The caller stops.
	ErrNotOwner = errors.New("refund: no longer the owner")
	// ErrNotFound: no such refund, payment or attempt for this tenant.
	ErrNotFound = errors.New("refund: not found")
	// ErrBusy: the row is locked for longer than the caller may wait.
	ErrBusy = errors.New("refund: row is locked")
	// ErrBadData: the database refuses a value that passed our own checks. It will refuse it again.
	ErrBadData = errors.New("refund: refused by the database")
	// ErrNotCancelable: the refund is not PENDING, or its ask is open.
	ErrNotCancelable = errors.New("refund: cannot be canceled any more")
	// ErrTooEarly: something sent may still act, so the decision cannot take effect yet.
	ErrTooEarly = errors.New("refund: something sent may still act")
	// ErrNoChannel: the account is not configured in this process.
	ErrNoChannel = errors.New("refund: account not configured")
)

// Problem is an error with a code that may be shown to the caller, and the request fields it is about.
type Problem struct {
	Code   Code
	Fields []string
}

func (p *Problem) Error() string { return "refund: " + string(p.Code) }
