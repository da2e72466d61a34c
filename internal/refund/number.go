package refund

import (
	"encoding/base32"
	"strconv"
)

// NumberLength is the length of every dispatch number in characters. A channel
// whose key field takes fewer is refused by its contract: cutting the number
// would cut the proof that two refunds never share one.
const NumberLength = 34

// numberVersion begins every number and names the preimage's version.
const numberVersion = "R1"

// crockford is Douglas Crockford's base32 alphabet, without I, L, O and U
// (https://www.crockford.com/base32.html).
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// DispatchNumber gives the name under which one dispatch of a refund is known
// to its channel: idempotency key and refund number at once. It is the same
// for the same input for ever, so that a refund accepted again after lost data
// meets the number of the first time. 160 bits keep numbers apart; the tenant
// is in it, since two tenants may share a merchant account.
//
// installation is the installation's uuid in lower-case text form. It enters
// as the tenant's code, not its database id, which a restored installation
// could hand out again. ordinal counts the refund's dispatches from 1.
func DispatchNumber(installation string, tenantCode, refundID string, ordinal int) string {
	h := sumLP(domainNumber, installation, tenantCode, refundID, strconv.Itoa(ordinal))
	enc := base32.NewEncoding(crockford).WithPadding(base32.NoPadding)
	return numberVersion + enc.EncodeToString(h[:20])
}
