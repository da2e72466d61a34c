package httpapi

import (
	"net/http"

	"github.com/refundry/refundry/internal/refund"
)

// Problem codes that only this package gives. Those of the domain are in
// internal/refund; the catalog below knows them all.
const (
	codeMalformedJSON    refund.Code = "malformed-json"
	codeInvalidRequest   refund.Code = "invalid-request"
	codeKeyMissing       refund.Code = "idempotency-key-missing"
	codeKeyInvalid       refund.Code = "idempotency-key-invalid"
	codeInvalidCursor    refund.Code = "invalid-cursor"
	codeUnauthorized     refund.Code = "unauthorized"
	codeScopeMissing     refund.Code = "scope-missing"
	codeMethodNotAllowed refund.Code = "method-not-allowed"
	codeIncomplete       refund.Code = "body-incomplete"
	codeTooLarge         refund.Code = "body-too-large"
	codeUnsupportedMedia refund.Code = "unsupported-media-type"
	codeRateLimited      refund.Code = "rate-limited"
	codeInternal         refund.Code = "internal"
	codeUnavailable      refund.Code = "unavailable"
	codeOverloaded       refund.Code = "overloaded"
)

// CodeInfo is one row of the catalog of problems: what a code means, which
// status carries it, and what the caller does about it.
type CodeInfo struct {
	Code      refund.Code
	Status    int    // HTTP status
	Title     string // short, the same for every occurrence
	Detail    string // the detail of an occurrence without one of its own; quotes no stored value
	Meaning   string
	Action    string
	Retryable bool // the very same request may succeed later
}

// Catalog returns every problem code, in the order of their statuses. It is the
// only place that maps codes to statuses; docs/errors.md and /problems are
// written from it.
func Catalog() []CodeInfo {
	out := append(badRequests(), conflicts()...)
	out = append(out, refusals()...)
	return append(out, notNow()...)
}

func badRequests() []CodeInfo {
	return []CodeInfo{
		{codeMalformedJSON, http.StatusBadRequest, "The request body is not valid JSON", "The request body is not valid JSON, or it can be read in two ways.",
			"The body is not JSON, or it is ambiguous: repeated members, fractions or exponents, data after the document, invalid UTF-8.",
			"Correct the body. `errors` names the place.", false},
		{codeInvalidRequest, http.StatusBadRequest, "The request is not valid", "The request does not follow the contract.",
			"A member, parameter or header is missing, unknown or not allowed by the contract.",
			"Correct the request. `errors` names every place.", false},
		{codeKeyMissing, http.StatusBadRequest, "The Idempotency-Key header is missing", "This request needs an Idempotency-Key header.",
			"Without a key, a repeated request looks like a second refund.", "Send a new key with every new request and the same key with every repeat.", false},
		{codeKeyInvalid, http.StatusBadRequest, "The Idempotency-Key header is not valid", "An Idempotency-Key is 1 to 255 visible ASCII characters, bare or as a quoted string.",
			"The key is empty, too long, sent twice, or has characters other than visible ASCII.", "Correct the key.", false},
		{codeInvalidCursor, http.StatusBadRequest, "The cursor is not valid", "The cursor does not belong to this list with these filters.",
			"A cursor is valid only for the list and the filters that returned it.", "Start again without a cursor.", false},
		{codeUnauthorized, http.StatusUnauthorized, "A valid API key is needed", "Send a valid API key as a bearer token.",
			"The Authorization header is missing or malformed, or its key is unknown, revoked or expired.",
			"Send a valid key as `Authorization: Bearer …`.", false},
		{codeScopeMissing, http.StatusForbidden, "The key lacks a scope", "The key does not have the scope that the operation needs.",
			"The key is valid, but it was not given the scope that the operation needs.", "Use a key with the scope named in `detail`.", false},
		{refund.CodeApproverIsMaker, http.StatusForbidden, "The approver proposed the decision", "Only an actor other than the one who proposed a decision may judge it.",
			"Two people decide about money: the maker may neither approve nor reject. Two keys of one actor are one actor.",
			"Let another actor approve or reject it.", false},
		{refund.CodeTenantClosed, http.StatusForbidden, "The tenant is closed", "The tenant takes no new requests. Reading still works.",
			"An operator closed the tenant. Refunds that were accepted before are still completed.", "Ask the operator.", false},
		{refund.CodeNotFound, http.StatusNotFound, "Not found", "There is no such resource.",
			"The path does not exist, or this tenant has no such refund, payment, case or message.", "Check the address.", false},
		{codeMethodNotAllowed, http.StatusMethodNotAllowed, "The method is not allowed", "The method is not allowed here; see the Allow header.",
			"The path exists, but not with this method.", "Use one of the methods in the `Allow` header.", false},
		{codeIncomplete, http.StatusRequestTimeout, "The body did not arrive", "The body did not arrive completely in time.",
			"The bytes of the body stopped before its end, or came too slowly. Nothing was stored.",
			"Send the same request again with the same key after `Retry-After` seconds, on a new connection.", true},
		{codeTooLarge, http.StatusRequestEntityTooLarge, "The body is too large", "The body is too large.",
			"The body is larger than the limit named in `detail`.", "Send less, or send events in smaller batches.", false},
		{codeUnsupportedMedia, http.StatusUnsupportedMediaType, "The media type is not supported", "The media type or the encoding of the body is not supported.",
			"The Content-Type is missing or not one of the contract's, its charset is not UTF-8, or the body is compressed.",
			"Send the media type named in `detail`, in UTF-8, without Content-Encoding.", false},
	}
}

func conflicts() []CodeInfo {
	const conflict = http.StatusConflict
	return []CodeInfo{
		{refund.CodeKeyReused, conflict, "The key was used for another request", "This Idempotency-Key was used with other parameters.",
			"A key names one request, and this request has other parameters. `fields` names the parameters that differ.",
			"Use a new key for a new request, and the same key only for a repeat.", false},
		{refund.CodeRefundConflict, conflict, "The refund id is known with other parameters", "A refund with this refundId exists with other parameters.",
			"A refundId names one refund for ever. `fields` names the parameters that differ.", "Use a new refundId for another refund.", false},
		{refund.CodePaymentConflict, conflict, "The payment is known with other parameters", "The payment is known with other parameters.",
			"Order, currency, account and reference of a payment never change, nor does a `paidAt` that was set. A version of a snapshot has one content. A payment is announced either by snapshots or by captures. `fields` names the parameters that differ.",
			"Read the payment and compare.", false},
		{refund.CodeBelowRefunded, conflict, "Less than what was already refunded", "The captured amount would be less than what is refunded, reserved or held.",
			"The snapshot has a captured amount that is less than what has been refunded or reserved.", "Check the amount.", false},
		{refund.CodeInProgress, conflict, "Another request is in progress", "Another request is working on the same refund or payment.",
			"The refund or the payment stayed locked for too long. Nothing was decided.", "Send the same request again after `Retry-After` seconds.", true},
		{refund.CodeCaseClosed, conflict, "The case is closed", "The case is closed.",
			"A fact or a decision closed the case. A closed case is never reopened.", "Read the refund. If it has another case, decide that one.", false},
		{refund.CodeDecisionNotAllowed, conflict, "The decision is not possible now", "The decision is not possible in the refund's present state.",
			"`detail` names the obstacle; `GET /v1/cases/{caseId}` lists the decisions that are possible.", "Choose another decision, or wait.", false},
		{refund.CodeDecisionPending, conflict, "Another decision is pending", "The case has another pending decision.",
			"A proposal of another actor waits for its approval, or an approved decision waits for its time. A case has at most one pending decision.",
			"Approve or reject the pending decision.", false},
		{refund.CodeDecisionVoid, conflict, "The decision is void", "Something has changed since the decision was proposed.",
			"A later fact, another line of the payment, another excess, or the end of 24 hours makes a proposal void.",
			"Read the case again, then decide with the new facts.", false},
		{refund.CodeDecisionJudged, conflict, "The decision was already judged", "The decision was already judged by another actor or with another verdict.",
			"A proposal is approved or rejected once.", "Read the case.", false},
		{refund.CodeNotCancelable, conflict, "Too late to cancel", "The refund can no longer be canceled.",
			"A request may already have reached the channel, or the refund has ended.", "Read the refund.", false},
		{refund.CodeCannotAsk, conflict, "The channel cannot be asked", "The channel cannot be asked about this refund.",
			"`detail` says why: the channel offers no query, or nothing has been sent to it yet.", "Read the refund; a notice or a person moves it on.", false},
		{refund.CodeNotRedrivable, conflict, "The message cannot be tried again", "A conflict is not tried again.",
			"The parked message has other parameters than those stored for its event id or refund id. Another try cannot change that.",
			"Discard it, and find out who sent it.", false},
	}
}

func refusals() []CodeInfo {
	const no = http.StatusUnprocessableEntity
	return []CodeInfo{
		{refund.CodePaymentUnknown, no, "The payment is not known", "Announce the payment first, or send it inside the request as `payment`.",
			"The payment has not been announced yet. Nothing was stored.",
			"Send `PUT /v1/payments/{paymentId}` first, or the payment inside the request, then the same request again.", true},
		{refund.CodeCurrencyMismatch, no, "The currency is not the payment's", "The currency differs from the payment's.",
			"A refund has the currency of its payment.", "Correct the request and send it with a new key.", false},
		{refund.CodeOrderMismatch, no, "The order is not the payment's", "The order differs from the payment's.",
			"The payment belongs to another order.", "Correct the request and send it with a new key.", false},
		{refund.CodeAmountExceeds, no, "More than can still be refunded", "The amount is more than what can still be refunded of the payment.",
			"The captured amount, less what is reserved, refunded and held, is below the requested amount.",
			"Read the payment, then send a smaller amount as a new request with a new key.", false},
		{refund.CodeNotExpressible, no, "The channel cannot express the amount", "The channel cannot express this amount exactly.",
			"The channel uses another unit or step, and amounts are never rounded.", "Choose an amount that the channel can express.", false},
		{refund.CodeWindowClosed, no, "The refund window has closed", "The channel no longer takes refunds of this payment.",
			"The channel's refund window for this payment has ended.", "Return the money another way.", false},
		{refund.CodeCountExceeded, no, "Too many refunds of one payment", "The channel takes no further refund of this payment.",
			"The channel limits the number of refunds of one payment.", "Return the money another way.", false},
		{refund.CodeAccountNotAllowed, no, "The account is not available", "The tenant may not use this channel account.",
			"The channel account is configured, but not for this tenant.", "Check `channelAccount`.", false},
		{refund.CodeReferenceOutside, no, "The payment reference is not the tenant's", "The payment's channel reference does not have the tenant's prefix.",
			"Several tenants share the channel account, and each has references with a prefix of its own. It is the same answer whether the reference is " +
				"known or not.",
			"Send the payment's own `channelReference`. Without one the reference is the tenant's code, a colon and the paymentId.", false},
		{refund.CodeEventExpired, no, "The event is too old", "The event is older than the time for which event ids are kept.",
			"It is no longer known whether the event was received before.", "Look up the refund by its refundId.", false},
		{refund.CodeEventUndated, no, "The event has no time", "Neither the event nor its broker has a time.",
			"Without a time, the event may be older than the time for which event ids are kept.",
			"Publish it with the attribute `time`, or allow undated events for the bridge. A parked event can be redriven.", false},
	}
}

func notNow() []CodeInfo {
	return []CodeInfo{
		{codeRateLimited, http.StatusTooManyRequests, "Too many requests", "Too many requests in a short time.",
			"The caller exceeded its rate.", "Send the same request again after `Retry-After` seconds.", true},
		{codeInternal, http.StatusInternalServerError, "Internal error", "Something went wrong on our side. The log has the details under the request id.",
			"An unexpected error.", "Send the same request again with the same key. If the error persists, give the operator the request id.", true},
		{codeUnavailable, http.StatusServiceUnavailable, "Not available", "The service cannot answer at the moment.",
			"The database is away, an answer took too long, or the process is shutting down. The request may or may not be stored.",
			"Send the same request again with the same key after `Retry-After` seconds.", true},
		{refund.CodeAccountNotConfigured, http.StatusServiceUnavailable, "The account is not configured here", "The process that answered does not know this channel account.",
			"The channel account is not in the configuration of the process that answered; another process may know it already. Nothing was decided.",
			"Send the same request again with the same key after `Retry-After` seconds. If it stays so, check `channelAccount`.", true},
		{codeOverloaded, http.StatusServiceUnavailable, "Overloaded", "Too many requests are waiting.",
			"The queue in front of the database is full. Nothing was stored.", "Send the same request again after `Retry-After` seconds, and slow down.", true},
	}
}
