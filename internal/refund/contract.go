package refund

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration that reads and writes as "1.5s" in contracts.
type Duration time.Duration

// D is the plain duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// MarshalText writes "1.5s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads, not negative.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil || v < 0 {
		return fmt.Errorf("refund: %q is not a duration ≥ 0", b)
	}
	*d = Duration(v)
	return nil
}

// Recovery is how an exposed dispatch may be resolved without a person.
type Recovery string

// From the strongest evidence to none.
const (
	RecoverByQuery  Recovery = "query"  // ask under our own number
	RecoverByList   Recovery = "list"   // list the payment's refunds and match our number
	RecoverByReplay Recovery = "replay" // send again with the same key while it lives
	RecoverByNotice Recovery = "notice" // wait for a notice or file
	RecoverByNobody Recovery = "none"   // a person
)

// Contract is what a channel promises, as data. Every change is a new version; an attempt stores the version it relied on.
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
	Horizon Duration         `json:"inFlightHorizon"` // how long a byte that left may still act

	LateFailureHorizon Duration `json:"lateFailureHorizon,omitempty"` // how long after a success "failed" may follow; 0 = not said
}

// IdempotencyTerms say what a repeated send under the same number does.
type IdempotencyTerms struct {
	Dedupes         bool     `json:"dedupes"`         // same number = same refund
	Lifetime        Duration `json:"lifetime"`        // from the first send; 0 = as long as the refund exists
	ReplaysState    bool     `json:"replaysState"`    // a re-send tells the current state, so it can serve as recovery
	KeepsAnswer     bool     `json:"keepsAnswer"`     // a re-send tells the first answer, errors included: a number with an unclear one is spent
	After2xx        bool     `json:"after2xx"`        // the key is kept only once a 2xx was given: before that a re-send may act again
	InFlightRefused bool     `json:"inFlightRefused"` // a twin in flight is refused, not executed
	NumberLength    int      `json:"numberLength"`    // longest number the channel takes; below 34 is refused

	Scope    KeyScope `json:"scope,omitempty"`    // within what a number means one refund; "" = not said
	Compares []string `json:"compares,omitempty"` // parameters that a repeat is compared by: amount, currency, payment, reason, noticeUrl
}

// QueryTerms describe a query by number, or a list by payment.
type QueryTerms struct {
	Exists        bool     `json:"exists"`
	VisibilityLag Duration `json:"visibilityLag"` // how long a done refund may be hidden
	Readings      int      `json:"readings"`      // counting absences needed
	ReadingGap    Duration `json:"readingGap"`    // between them
	FirstDelay    Duration `json:"firstDelay"`    // before the first query after a send

	Effects QueryEffects `json:"effects,omitempty"` // "" = asking changes nothing
}

// CodeTerms list the channel's codes by meaning. A code in no list is Unknown.
type CodeTerms struct {
	Refused     []string `json:"refused"`     // did nothing, never will
	NewNumber   []string `json:"newNumber"`   // did nothing; another number may pass
	Echo        []string `json:"echo"`        // our own effect could cause it: proves nothing
	Retryable   []string `json:"retryable"`   // did nothing, same number may be sent again
	LowBalance  []string `json:"lowBalance"`  // retryable, and PENDING says why
	LateFailure bool     `json:"lateFailure"` // "failed" after "succeeded" means: returned

	Attention   []string            `json:"attention,omitempty"`   // acknowledged, and only a person can move it on
	PassesLater []string            `json:"passesLater,omitempty"` // refused because something equal was just done: proves nothing, the same number may pass later
	Resubmit    map[string]Resubmit `json:"resubmit,omitempty"`    // how a refund that met the code may be asked for again
}

// LimitTerms are rules that refuse or delay.
type LimitTerms struct {
	Spacing    Duration   `json:"spacing"`    // between sends of one payment
	PerSecond  int        `json:"perSecond"`  // calls of the account, by each process; 0 = no limit
	Window     Duration   `json:"window"`     // refunds are possible this long after the payment (paidAt, else its first knowledge); 0 = no end
	MaxRefunds int        `json:"maxRefunds"` // per payment; 0 = no limit
	Currencies []Currency `json:"currencies"` // empty = all
	MinAmount  int64      `json:"minAmount"`
	MaxAmount  int64      `json:"maxAmount"` // 0 = no limit

	Step            map[Currency]int64 `json:"step,omitempty"`            // amounts are multiples of it, in the channel's units; absent = 1
	Exponent        map[Currency]int   `json:"exponent,omitempty"`        // decimals of the channel's units; absent = ISO 4217's
	DuplicateWindow Duration           `json:"duplicateWindow,omitempty"` // an equal refund of one payment within it counts as a duplicate; 0 = none does
	PerSecondErrors int                `json:"perSecondErrors,omitempty"` // failing calls of the account; 0 = no limit
}

// WaitTerms are the deadlines after which a case opens. Polling goes on.
type WaitTerms struct {
	Pending  Duration `json:"pending"`
	Unknown  Duration `json:"unknown"`
	Accepted Duration `json:"accepted"`
}

// Recovery is the strongest way that the contract offers.
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

// questionTerms is the terms of whatever can be asked: the query, else the list.
func (c Contract) questionTerms() QueryTerms {
	if c.Query.Automatic() {
		return c.Query
	}
	return c.List
}

// Encode is the contract's stored form; its bytes make the digest that tells one version from the next.
func (c Contract) Encode() ([]byte, error) { return json.Marshal(c) }

// Expresses says whether the channel can express the amount.
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
