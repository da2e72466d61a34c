package refund

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
	LowBalance  []string `json:"lowBalance"`  // the balance is too low, and pendingReason says so: part of Retryable, or of NewNumber where KeepsAnswer
	LateFailure bool     `json:"lateFailure"` // "failed" after "succeeded" means that the money came back

	Credentials []string            `json:"credentials,omitempty"` // part of Retryable: the channel refuses the account's credentials, signature or name
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

// ReferenceOrigin is who chooses the references by which the channel knows payments.
type ReferenceOrigin string

// Origins of references.
const (
	ReferencesOfMerchant ReferenceOrigin = "merchant" // the merchant chooses them with the payment
	ReferencesOfChannel  ReferenceOrigin = "channel"  // they are the channel's own ids, so nothing in them tells tenants apart
)

// KeyScope is the scope in which a number names one refund at a channel.
type KeyScope string

// Scopes of keys.
const (
	ScopeMerchant KeyScope = "merchant" // within the merchant account
	ScopeTrade    KeyScope = "trade"    // within one payment
	ScopeCompany  KeyScope = "company"  // within all accounts of the company
)

// QueryEffects describes the side effects of a query.
type QueryEffects string

// QueryActs marks a query that may itself start or change a refund.
const QueryActs QueryEffects = "acts"

// Resubmit is how a refund that the channel has answered with a code may be requested again. It is for people: no step of
// Decide depends on it.
type Resubmit string

// Ways to request again.
const (
	ResubmitSame  Resubmit = "same"  // under the same number
	ResubmitNew   Resubmit = "new"   // under a new number only
	ResubmitNever Resubmit = "never" // not at all
)
