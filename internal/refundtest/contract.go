// Package refundtest builds domain values for the tests of several packages.
package refundtest

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Profile is the profile of Contract.
const Profile = "test"

// Contract returns a valid contract for tests that are not about contracts: a number is one refund for ever, and the channel can
// be asked for it.
func Contract() refund.Contract {
	return refund.Contract{
		Profile: Profile,
		Key:     refund.IdempotencyTerms{Dedupes: true, NumberLength: 64},
		Query:   refund.QueryTerms{Exists: true, VisibilityLag: refund.Duration(4 * time.Second), Readings: 2, ReadingGap: refund.Duration(500 * time.Millisecond)},
		Notices: true,
		Codes: refund.CodeTerms{
			Refused:     []string{"not_refundable_window", "refund_count_exceeded", "invalid_request"},
			Echo:        []string{"already_refunded", "amount_too_large", "number_reused"},
			Retryable:   []string{"rate_limited", "too_soon", "insufficient_balance", "unauthorized", "account_unknown"},
			LowBalance:  []string{"insufficient_balance"},
			PassesLater: []string{"duplicate_refund"},
			Credentials: []string{"unauthorized", "account_unknown"},
		},
		Horizon: refund.Duration(time.Second),
		Waits:   refund.WaitTerms{Pending: refund.Duration(24 * time.Hour), Unknown: refund.Duration(time.Hour), Accepted: refund.Duration(7 * 24 * time.Hour)},
	}
}
