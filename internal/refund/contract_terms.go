package refund

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

// Resubmit is how a refund that met a code may be requested again.
type Resubmit string

// Ways to request again.
const (
	ResubmitSame  Resubmit = "same"  // under the same number
	ResubmitNew   Resubmit = "new"   // under a new number only
	ResubmitNever Resubmit = "never" // not at all
)
