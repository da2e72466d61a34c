package channel

import (
	"errors"
	"fmt"
	"time"
)

// The two classes of a failed call. Every error of a call is exactly one of them under errors.Is. A client wraps ErrNotSent when
// it fails before the call, for example when it cannot build the request.
var (
	// ErrNotSent is the class of a CallError with Sent false: no byte of the request was written, and none will be.
	ErrNotSent = errors.New("channel: not sent")
	// ErrAmbiguous is the class of a CallError with Sent true: at least one byte was written, and what the channel did is unknown.
	ErrAmbiguous = errors.New("channel: sent, outcome not known")
)

// CallError is a call without a usable answer.
type CallError struct {
	Sent   bool      // a byte of the request was written
	SentAt time.Time // of the first byte, by the budget's clock; zero when not sent
	Err    error
}

func (e *CallError) class() error {
	if e.Sent {
		return ErrAmbiguous
	}
	return ErrNotSent
}

// Error implements error.
func (e *CallError) Error() string { return fmt.Sprintf("%v: %v", e.class(), e.Err) }

// Is reports whether target is the class of the error: ErrNotSent or ErrAmbiguous.
func (e *CallError) Is(target error) bool { return target == e.class() }

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }
