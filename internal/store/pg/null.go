package pg

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Deref returns the value behind a pointer, or the zero value for nil: the domain has no NULL.
func Deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Null stores the zero value as NULL.
func Null[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func NullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// NullRID stores the zero id as NULL.
func NullRID(id refund.RID) *[16]byte {
	if id.IsZero() {
		return nil
	}
	b := [16]byte(id)
	return &b
}
