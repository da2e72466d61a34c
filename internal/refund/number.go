package refund

import (
	"encoding/base32"
	"strconv"
)

// NumberLength is the length of every dispatch number in characters. A contract with shorter numbers is refused: a shortened
// number could be that of two refunds.
const NumberLength = 34

// numberVersion begins every number and names the preimage's version.
const numberVersion = "R1"

// crockford is Douglas Crockford's base32 alphabet, without I, L, O and U
// (https://www.crockford.com/base32.html).
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// DispatchNumber returns the name of a dispatch at its channel, which is idempotency key and refund number at once. The same
// input always gives the same number, so that a refund that is accepted again after lost data has its first number. 160 bits
// separate numbers; the tenant is part of it, because two tenants may share a merchant account.
//
// installation is the installation's uuid in lower-case text form. tenantCode is used because a restored installation could
// give a tenant's database id to another one. ordinal counts the refund's dispatches from 1.
func DispatchNumber(installation string, tenantCode, refundID string, ordinal int) string {
	h := sumLP(domainNumber, installation, tenantCode, refundID, strconv.Itoa(ordinal))
	enc := base32.NewEncoding(crockford).WithPadding(base32.NoPadding)
	return numberVersion + enc.EncodeToString(h[:20])
}
