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
// on. Its methods are in contract.go and contract_validate.go, those about steps and waits in decide.go and waits.go.
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
}

// IdempotencyTerms describe the effect of a repeated send under the same number.
type IdempotencyTerms struct {
	Dedupes         bool     `json:"dedupes"`         // same number = same refund
	Lifetime        Duration `json:"lifetime"`        // from the first send; 0 = as long as the refund exists
	ReplaysState    bool     `json:"replaysState"`    // a repeated send returns the current state, so it can serve as recovery
	KeepsAnswer     bool     `json:"keepsAnswer"`     // a repeated send returns the first answer, errors included: after an unclear one the number is useless
	After2xx        bool     `json:"after2xx"`        // the key is kept only after a 2xx: before that a repeated send may be executed again
	InFlightRefused bool     `json:"inFlightRefused"` // a repeat is refused while the first request is in flight
	NumberLength    int      `json:"numberLength"`    // longest number that the channel takes; below 34 is refused

	Scope    KeyScope `json:"scope,omitempty"`    // the scope in which a number names one refund; "" = not documented
	Compares []string `json:"compares,omitempty"` // parameters that the channel compares in a repeat: amount, currency, payment, reason, noticeUrl
}

// QueryTerms describe a query by number, or a list by payment.
type QueryTerms struct {
	Exists        bool     `json:"exists"`
	VisibilityLag Duration `json:"visibilityLag"` // how long an executed refund may be missing from answers
	Readings      int      `json:"readings"`      // absences needed as proof
	ReadingGap    Duration `json:"readingGap"`    // between two of them
	FirstDelay    Duration `json:"firstDelay"`    // before the first query after a send

	Effects QueryEffects `json:"effects,omitempty"` // "" = a query changes nothing
}

// CodeTerms list the channel's codes by meaning. An unlisted code is an unknown outcome.
type CodeTerms struct {
	Refused     []string `json:"refused"`     // not done, and never will be
	NewNumber   []string `json:"newNumber"`   // not done; another number may pass
	Echo        []string `json:"echo"`        // our own effect could have caused it: proves nothing
	Retryable   []string `json:"retryable"`   // not done; the same number may be sent again
	LowBalance  []string `json:"lowBalance"`  // part of Retryable: the balance is too low, and pendingReason says so
	LateFailure bool     `json:"lateFailure"` // "failed" after "succeeded" means that the money came back

	Attention   []string            `json:"attention,omitempty"`   // acknowledged, and only a person can move it on
	PassesLater []string            `json:"passesLater,omitempty"` // refused because an equal refund was just made: proves nothing, the same number may pass later
	Resubmit    map[string]Resubmit `json:"resubmit,omitempty"`    // how a refund that met the code may be requested again
}

// LimitTerms are the channel's limits. Requests beyond them are refused or delayed.
type LimitTerms struct {
	Spacing    Duration   `json:"spacing"`    // between sends of one payment
	PerSecond  int        `json:"perSecond"`  // calls of the account, by each process; 0 = no limit
	Window     Duration   `json:"window"`     // refunds are possible this long after the payment (paidAt, else the time it became known); 0 = no end
	MaxRefunds int        `json:"maxRefunds"` // per payment; 0 = no limit
	Currencies []Currency `json:"currencies"` // empty = all
	MinAmount  int64      `json:"minAmount"`
	MaxAmount  int64      `json:"maxAmount"` // 0 = no limit

	Step            map[Currency]int64 `json:"step,omitempty"`            // amounts are multiples of it, in the channel's units; absent = 1
	Exponent        map[Currency]int   `json:"exponent,omitempty"`        // decimals of the channel's units; absent = ISO 4217's
	DuplicateWindow Duration           `json:"duplicateWindow,omitempty"` // an equal refund of one payment within it is a duplicate; 0 = no such rule
	PerSecondErrors int                `json:"perSecondErrors,omitempty"` // failing calls of the account; 0 = no limit
}

// WaitTerms are the deadlines after which a case opens. Polling continues under the case.
type WaitTerms struct {
	Pending  Duration `json:"pending"`
	Unknown  Duration `json:"unknown"`
	Accepted Duration `json:"accepted"`
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

// codeLists returns the lists that give a code its meaning. A code is in one of them at most; LowBalance is a part of
// Retryable.
func (t CodeTerms) codeLists() map[string][]string {
	return map[string][]string{"refused": t.Refused, "newNumber": t.NewNumber, "echo": t.Echo, "retryable": t.Retryable,
		"attention": t.Attention, "passesLater": t.PassesLater}
}
