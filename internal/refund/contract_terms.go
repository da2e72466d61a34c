package refund

// KeyScope is within what a number means one refund at a channel.
type KeyScope string

// The scopes.
const (
	ScopeMerchant KeyScope = "merchant" // within the merchant account
	ScopeTrade    KeyScope = "trade"    // within one payment
	ScopeCompany  KeyScope = "company"  // within all accounts of the company
)

// QueryEffects says what asking may do.
type QueryEffects string

// QueryActs: the question may itself start or change a refund.
const QueryActs QueryEffects = "acts"

// Automatic reports whether the channel may be asked without a person: the question exists and changes nothing.
func (q QueryTerms) Automatic() bool { return q.Exists && q.Effects == "" }

// Resubmit is how a refund that met a code may be asked for again.
type Resubmit string

// The ways.
const (
	ResubmitSame  Resubmit = "same"  // under the same number
	ResubmitNew   Resubmit = "new"   // under a new number only
	ResubmitNever Resubmit = "never" // not at all
)
