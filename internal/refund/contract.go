package refund

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration that is written as "1.5s" in contracts.
type Duration time.Duration

// D returns the time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// MarshalText implements encoding.TextMarshaler with the form of time.Duration.String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts the input of time.ParseDuration and refuses negative values.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil || v < 0 {
		return fmt.Errorf("refund: %q is not a duration ≥ 0", b)
	}
	*d = Duration(v)
	return nil
}

// Recovery is the way in which an exposed dispatch can be resolved without a person.
type Recovery string

// Ways of recovery, from the strongest evidence to none.
const (
	RecoverByQuery  Recovery = "query"  // query by our own number
	RecoverByList   Recovery = "list"   // list the payment's refunds and match our number
	RecoverByReplay Recovery = "replay" // send again with the same key while it lives
	RecoverByNotice Recovery = "notice" // wait for a notice or a settlement file
	RecoverByNobody Recovery = "none"   // a person decides
)

// Contract is a channel's promises, as data. Every change is a new version, and an attempt stores the version that it relied
// on. Its terms are in contract_terms.go. Its methods are in contract.go and contract_validate.go, those about steps and waits
// in decide.go and waits.go.
type Contract struct {
	Profile string `json:"profile"`
	Version int    `json:"-"`

	Key     IdempotencyTerms `json:"key"`
	Query   QueryTerms       `json:"query"`
	List    QueryTerms       `json:"list"`
	Notices bool             `json:"notices"`
	Codes   CodeTerms        `json:"codes"`
	Limits  LimitTerms       `json:"limits"`
	Waits   WaitTerms        `json:"waits"`
	Horizon Duration         `json:"inFlightHorizon"` // how long a request that has left may still be executed

	LateFailureHorizon Duration `json:"lateFailureHorizon,omitempty"` // how long after a success "failed" may follow; 0 = not documented

	References ReferenceOrigin `json:"references,omitempty"` // who chooses the references of payments; "" = the merchant

	// ReferencePrefix is the beginning of every payment reference that the tenant may use at this account; "" = any. It is no
	// promise of the channel: the configuration gives it to each tenant of a shared account, and it is not stored.
	ReferencePrefix string `json:"-"`
}

// Recovery returns the strongest way that the contract offers.
func (c Contract) Recovery() Recovery {
	switch {
	case c.Query.Automatic():
		return RecoverByQuery
	case c.List.Automatic():
		return RecoverByList
	case c.Key.Dedupes && c.Key.ReplaysState:
		return RecoverByReplay
	case c.Notices:
		return RecoverByNotice
	}
	return RecoverByNobody
}

// questionTerms returns the terms of the query, or those of the list where there is no query.
func (c Contract) questionTerms() QueryTerms {
	if c.Query.Automatic() {
		return c.Query
	}
	return c.List
}

// Encode returns the contract's stored form. The digest of its bytes identifies a version.
func (c Contract) Encode() ([]byte, error) { return json.Marshal(c) }

// Expresses reports whether the channel can express the amount.
func (c Contract) Expresses(amount int64, cur Currency) bool {
	if !c.Limits.whole(amount, cur) || amount < c.Limits.MinAmount || (c.Limits.MaxAmount > 0 && amount > c.Limits.MaxAmount) {
		return false
	}
	if len(c.Limits.Currencies) == 0 {
		return true
	}
	for _, x := range c.Limits.Currencies {
		if x == cur {
			return true
		}
	}
	return false
}

// whole reports whether the amount, in ISO 4217's minor units, is a whole number of the channel's steps.
func (l LimitTerms) whole(amount int64, cur Currency) bool {
	if exponent, other := l.Exponent[cur]; other {
		n, err := Money{amount, cur}.InUnit(exponent)
		if err != nil {
			return false
		}
		amount = n
	}
	step := l.Step[cur]
	return step <= 1 || amount%step == 0
}

// Automatic reports whether the channel may be queried without a person: the query exists and changes nothing.
func (q QueryTerms) Automatic() bool { return q.Exists && q.Effects == "" }

// codeLists returns the lists that give a code its meaning. A code is in one of them at most; Credentials is a part of
// Retryable, and LowBalance too, or of NewNumber where the channel keeps the first answer.
func (t CodeTerms) codeLists() map[string][]string {
	return map[string][]string{"refused": t.Refused, "newNumber": t.NewNumber, "echo": t.Echo, "retryable": t.Retryable,
		"attention": t.Attention, "passesLater": t.PassesLater}
}
