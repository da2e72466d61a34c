package refund

import "errors"

// Classes of errors. Every error of a store or a channel is translated into one of them where it occurs.
var (
	// ErrUnavailable: the database cannot be reached or asks to try later. Nothing was decided.
	ErrUnavailable = errors.New("refund: store unavailable")
	// ErrCommitUnknown: COMMIT was sent and its answer was lost. The transaction may have been committed; running the same
	// transaction again is the only way to find out.
	ErrCommitUnknown = errors.New("refund: outcome of commit unknown")
	// ErrOverloaded: the bounded queue of acceptance is full.
	ErrOverloaded = errors.New("refund: too many requests are waiting")
	// ErrNotOwner: a guarded write found another generation, state or journal position. The caller stops.
	ErrNotOwner = errors.New("refund: no longer the owner")
	// ErrNotFound: no such refund, payment or attempt for this tenant.
	ErrNotFound = errors.New("refund: not found")
	// ErrBusy: the row is locked for longer than the caller may wait.
	ErrBusy = errors.New("refund: row is locked")
	// ErrBadData: the database refuses a value that our own checks accepted. A repeat is refused too.
	ErrBadData = errors.New("refund: refused by the database")
	// ErrNotCancelable: the refund is not PENDING, or its ask is open.
	ErrNotCancelable = errors.New("refund: cannot be canceled any more")
	// ErrTooEarly: a request may still be executed, so the decision cannot take effect yet.
	ErrTooEarly = errors.New("refund: a request may still be executed")
	// ErrLinesKept: a list's lines cannot be entered, and no repeat would help. They are kept for later; until then no absence
	// in that list proves anything.
	ErrLinesKept = errors.New("refund: lines are kept for later")
	// ErrNoChannel: the account is not configured in this process.
	ErrNoChannel = errors.New("refund: account not configured")
)

// GuardError is a value that a guard refused: a constraint or a check of the database, or one of our own checks that repeat
// them. A repeat is refused too. It is ErrBadData under errors.Is.
type GuardError struct {
	Guard string // the guard's name, e.g. "attempts_answer_ck"; "sqlstate-22P05" where the database gives none
	Err   error  // for the log; nil = none
}

func (e *GuardError) Error() string {
	if e.Err == nil {
		return ErrBadData.Error() + ": guard " + e.Guard
	}
	return ErrBadData.Error() + ": guard " + e.Guard + ": " + e.Err.Error()
}

// Is makes every GuardError ErrBadData.
func (e *GuardError) Is(target error) bool { return target == ErrBadData }

// Unwrap returns the error of the guard.
func (e *GuardError) Unwrap() error { return e.Err }

// CannotAsk is the error of a question to the channel that is not possible. It says why, as a sentence.
type CannotAsk string

// Reasons why the channel cannot be asked about a refund.
const (
	CannotAskChannel CannotAsk = "The channel has neither a query nor a list that could be asked about this refund."
	CannotAskUnsent  CannotAsk = "Nothing of this refund has been sent to the channel yet."
)

func (e CannotAsk) Error() string { return "refund: cannot ask: " + string(e) }

// Problem is an error with a code that the caller may see, and the request fields that it is about.
type Problem struct {
	Code   Code
	Fields []string
}

func (p *Problem) Error() string { return "refund: " + string(p.Code) }
