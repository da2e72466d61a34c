package refund

import "time"

// Names of the contracts in the core's tests, one for each way in which channels differ. They are built here because the
// core knows no channel; the shipped ones are in the folder of the plain protocol.
const (
	ProfileKeyedQueryable = "keyed-queryable"
	ProfileListAndMatch   = "list-and-match"
	ProfileKeyReplayOnly  = "key-replay-only"
	ProfileKeyAfter2xx    = "key-after-2xx"
	ProfileNoticeOnly     = "notice-only"
	ProfileBlind          = "blind"
)

const day = 24 * time.Hour

// profiles are the contracts by name, from the strongest evidence to none.
var profiles = []struct {
	name  string
	terms func(*Contract)
}{
	{ProfileKeyedQueryable, keyedQueryable},
	{ProfileListAndMatch, listAndMatch},
	{ProfileKeyReplayOnly, keyReplayOnly},
	{ProfileKeyAfter2xx, keyAfter2xx},
	{ProfileNoticeOnly, noticeOnly},
	{ProfileBlind, func(*Contract) {}}, // every send is a new refund and nothing can be asked: an ambiguous send goes to a person
}

// Profiles returns the names that Profile knows.
func Profiles() []string {
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.name
	}
	return names
}

// Profile returns a contract by name, with Version 0; false = no contract of this name.
func Profile(name string) (Contract, bool) {
	for _, p := range profiles {
		if p.name == name {
			c := plain(name)
			p.terms(&c)
			return c, true
		}
	}
	return Contract{}, false
}

// asked returns the terms of queries in the plain protocol: a refund may be hidden until it has settled (2 s in the
// simulator) and for 2 s more, hence the lag of 4 s.
func asked() QueryTerms {
	return QueryTerms{Exists: true, VisibilityLag: Duration(4 * time.Second), Readings: 2, ReadingGap: Duration(500 * time.Millisecond)}
}

// keyedQueryable: one number is one refund for ever, and the channel can be asked for it.
func keyedQueryable(c *Contract) {
	c.Key.Dedupes = true
	c.Query = asked()
	c.Notices = true
}

// listAndMatch: keys live 24 h and return the first answer, errors included, so that a number with an unclear answer is
// useless; repeats in flight are refused. The payment's list shows every refund with our number. A low balance holds the
// refund, "failed" may follow "succeeded", and a code that was kept cannot be retried under the same number.
func listAndMatch(c *Contract) {
	c.Key = IdempotencyTerms{Dedupes: true, Lifetime: Duration(day), KeepsAnswer: true, InFlightRefused: true, NumberLength: 64}
	c.List = asked()
	c.Notices = true
	c.Codes.Retryable = []string{"rate_limited", "too_soon", "in_flight", "unauthorized"}
	c.Codes.NewNumber = []string{"insufficient_balance"}                                  // and in LowBalance: the next number is sent when there may be funds again
	c.Codes.Echo, c.Codes.PassesLater = append(c.Codes.Echo, c.Codes.PassesLater...), nil // it would be kept as the number's answer
	c.Codes.LateFailure = true
}

// keyReplayOnly: nothing can be asked, but a repeated send returns the refund's present state, for 45 days. Sends for one
// payment are a second apart.
func keyReplayOnly(c *Contract) {
	c.Key.Dedupes, c.Key.ReplaysState, c.Key.Lifetime = true, true, Duration(45*day)
	c.Limits.Spacing = Duration(time.Second)
	c.Notices = true
}

// keyAfter2xx: a key is kept for 24 h, but only after a 2xx, and repeats in flight are executed. An ambiguous send is
// repeated only after the payment's list has proven that it did nothing.
func keyAfter2xx(c *Contract) {
	c.Key.Dedupes, c.Key.After2xx, c.Key.Lifetime = true, true, Duration(day)
	c.List = asked()
	c.Notices = true
}

// noticeOnly: a send is only acknowledged, nothing can be asked, the result comes as a notice. A low balance is kept as the
// number's answer, so that only the next number can pass.
func noticeOnly(c *Contract) {
	c.Key.Dedupes, c.Key.KeepsAnswer, c.Key.Lifetime = true, true, Duration(7*day)
	c.Notices = true
	c.Codes.Retryable = []string{"rate_limited", "too_soon", "unauthorized", "account_unknown"}
	c.Codes.NewNumber = []string{"insufficient_balance"}                                  // and in LowBalance: the next number is sent when there may be funds again
	c.Codes.Echo, c.Codes.PassesLater = append(c.Codes.Echo, c.Codes.PassesLater...), nil // it would be kept as the number's answer
}

// plain returns the common terms of the plain protocol. Codes that api/simulator.yaml documents as "nothing happened" are
// listed by what may follow; an unlisted code is unknown.
func plain(name string) Contract {
	return Contract{
		Profile: name,
		Key:     IdempotencyTerms{NumberLength: 64},
		Horizon: Duration(time.Second),
		Codes: CodeTerms{
			Refused:     []string{"not_refundable_window", "refund_count_exceeded", "invalid_request"},
			Echo:        []string{"already_refunded", "amount_too_large", "number_reused"},
			Retryable:   []string{"rate_limited", "too_soon", "insufficient_balance", "unauthorized", "account_unknown"},
			LowBalance:  []string{"insufficient_balance"},
			PassesLater: []string{"duplicate_refund"},
		},
		Waits: WaitTerms{Pending: Duration(day), Unknown: Duration(time.Hour), Accepted: Duration(7 * day)},
	}
}
