package plain

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Profiles of the contracts that ship with the plain protocol, one for each way in which channels differ.
const (
	KeyedQueryable = "keyed-queryable"
	ListAndMatch   = "list-and-match"
	KeyReplayOnly  = "key-replay-only"
	KeyAfter2xx    = "key-after-2xx"
	NoticeOnly     = "notice-only"
	Blind          = "blind"
)

const day = 24 * time.Hour

// Contracts returns the ready-made contracts for accounts whose channel speaks the plain protocol (api/simulator.yaml), from the
// strongest evidence to none.
func Contracts() []refund.Contract {
	profiles := []struct {
		name  string
		terms func(*refund.Contract)
	}{
		{KeyedQueryable, keyedQueryable},
		{ListAndMatch, listAndMatch},
		{KeyReplayOnly, keyReplayOnly},
		{KeyAfter2xx, keyAfter2xx},
		{NoticeOnly, noticeOnly},
		{Blind, func(*refund.Contract) {}}, // every send is a new refund and there are no queries: an ambiguous send opens a case
	}
	out := make([]refund.Contract, len(profiles))
	for i, p := range profiles {
		out[i] = base(p.name)
		p.terms(&out[i])
	}
	return out
}

// asked returns the terms of queries: a refund can be hidden until it has settled (2 s in the simulator) and for 2 s more,
// hence the lag of 4 s.
func asked() refund.QueryTerms {
	return refund.QueryTerms{Exists: true, VisibilityLag: refund.Duration(4 * time.Second), Readings: 2, ReadingGap: refund.Duration(500 * time.Millisecond)}
}

// keyedQueryable: a number names one refund for ever, and the channel can be queried for it.
func keyedQueryable(c *refund.Contract) {
	c.Key.Dedupes = true
	c.Query = asked()
	c.Notices = true
}

// listAndMatch: a key is kept for 24 h and repeats its first answer, errors included, so a repeat after an unknown answer
// proves nothing more. Concurrent sends of one number are refused. The payment's list shows every refund with its number. A
// low balance may hold the refund, "failed" can follow "succeeded", and a kept code cannot be retried under the same
// number.
func listAndMatch(c *refund.Contract) {
	c.Key = refund.IdempotencyTerms{Dedupes: true, Lifetime: refund.Duration(day), KeepsAnswer: true, InFlightRefused: true, NumberLength: 64}
	c.List = asked()
	c.Notices = true
	c.Codes.Retryable = []string{"rate_limited", "too_soon", "in_flight", "unauthorized"}
	c.Codes.Credentials = []string{"unauthorized"}
	c.Codes.NewNumber = []string{"insufficient_balance"}                                  // and in LowBalance: the next number is sent when there may be funds again
	c.Codes.Echo, c.Codes.PassesLater = append(c.Codes.Echo, c.Codes.PassesLater...), nil // it would be kept as the number's answer
	c.Codes.LateFailure = true
}

// keyReplayOnly: there are no queries, but a repeated send of a key returns the current state of the refund, for 45 days.
// Sends for one payment are at least a second apart.
func keyReplayOnly(c *refund.Contract) {
	c.Key.Dedupes, c.Key.ReplaysState, c.Key.Lifetime = true, true, refund.Duration(45*day)
	c.Limits.Spacing = refund.Duration(time.Second)
	c.Notices = true
}

// keyAfter2xx: a key is kept for 24 h, but only after a 2xx answer, and concurrent sends of one number both act. An
// ambiguous send is therefore repeated only after the payment's list has proved that it did nothing.
func keyAfter2xx(c *refund.Contract) {
	c.Key.Dedupes, c.Key.After2xx, c.Key.Lifetime = true, true, refund.Duration(day)
	c.List = asked()
	c.Notices = true
}

// noticeOnly: a send is only acknowledged, there are no queries, and the result comes as a notice. A low balance is kept as
// the answer of the number, so that only the next number can succeed.
func noticeOnly(c *refund.Contract) {
	c.Key.Dedupes, c.Key.KeepsAnswer, c.Key.Lifetime = true, true, refund.Duration(7*day)
	c.Notices = true
	c.Codes.Retryable = []string{"rate_limited", "too_soon", "unauthorized", "account_unknown"}
	c.Codes.NewNumber = []string{"insufficient_balance"}                                  // and in LowBalance: the next number is sent when there may be funds again
	c.Codes.Echo, c.Codes.PassesLater = append(c.Codes.Echo, c.Codes.PassesLater...), nil // it would be kept as the number's answer
}

// base returns what all accounts of the plain protocol have in common. Codes that api/simulator.yaml documents as "nothing
// happened" are listed by what can follow them; a code in no list is Unknown.
func base(profile string) refund.Contract {
	return refund.Contract{
		Profile: profile,
		Key:     refund.IdempotencyTerms{NumberLength: 64},
		Horizon: refund.Duration(time.Second),
		Codes: refund.CodeTerms{
			Refused:     []string{"not_refundable_window", "refund_count_exceeded", "invalid_request"},
			Echo:        []string{"already_refunded", "amount_too_large", "number_reused"},
			Retryable:   []string{"rate_limited", "too_soon", "insufficient_balance", "unauthorized", "account_unknown"},
			LowBalance:  []string{"insufficient_balance"},
			PassesLater: []string{"duplicate_refund"},
			Credentials: []string{"unauthorized", "account_unknown"},
		},
		Waits: refund.WaitTerms{Pending: refund.Duration(day), Unknown: refund.Duration(time.Hour), Accepted: refund.Duration(7 * day)},
	}
}
