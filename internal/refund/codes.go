package refund

// Code is a stable, documented problem code. Clients branch on it; its meaning never changes. internal/http maps every code
// to a status; docs/errors.md lists them.
type Code string

// Codes of acceptance. The first group are conflicts (the key is bound to other parameters), the second refusals (a business
// rule forbids the refund); the last two ask the caller to try again.
const (
	CodeKeyReused       Code = "idempotency-key-reused"
	CodeRefundConflict  Code = "refund-parameters-conflict"
	CodePaymentConflict Code = "payment-parameters-conflict"

	CodePaymentUnknown    Code = "payment-unknown"
	CodeCurrencyMismatch  Code = "currency-mismatch"
	CodeOrderMismatch     Code = "order-mismatch"
	CodeAmountExceeds     Code = "amount-exceeds-refundable"
	CodeNotExpressible    Code = "amount-not-expressible"
	CodeWindowClosed      Code = "refund-window-closed"
	CodeCountExceeded     Code = "refund-count-exceeded"
	CodeAccountNotAllowed Code = "account-not-allowed"
	CodeReferenceOutside  Code = "reference-not-allowed"
	CodeEventExpired      Code = "event-expired"
	CodeEventUndated      Code = "event-undated"
	CodeTenantClosed      Code = "tenant-closed"

	CodeInProgress           Code = "operation-in-progress"
	CodeAccountNotConfigured Code = "account-not-configured"
)

// Codes of the other operations.
const (
	CodeBelowRefunded Code = "payment-below-refunded"
	CodeNotCancelable Code = "not-cancelable"
	CodeCannotAsk     Code = "cannot-ask"
	CodeNotFound      Code = "not-found"
	CodeNotRedrivable Code = "not-redrivable"

	CodeCaseClosed         Code = "case-closed"
	CodeDecisionNotAllowed Code = "decision-not-allowed"
	CodeDecisionPending    Code = "decision-pending"
	CodeDecisionVoid       Code = "decision-void"
	CodeDecisionJudged     Code = "decision-judged"
	CodeApproverIsMaker    Code = "approver-is-maker"
)
