package channel

import (
	"errors"
	"fmt"
	"time"
)

// The two classes of a failed call; every error of this package's calls is one
// of them under errors.Is.
var (
	// ErrNotSent: no byte of the request left, and none will.
	ErrNotSent = errors.New("channel: not sent")
	// ErrAmbiguous: at least one byte left; what the channel did is not known.
	ErrAmbiguous = errors.New("channel: sent, outcome not known")
)

// CallError is a call without a usable answer.
type CallError struct {
	Sent   bool
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

// Is tells the class, see ErrNotSent and ErrAmbiguous.
func (e *CallError) Is(target error) bool { return target == e.class() }

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }
