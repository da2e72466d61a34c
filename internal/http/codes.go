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
	Detail    string // what is told when the occurrence adds nothing; quotes no stored value
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
		{codeMalformedJSON, http.StatusBadRequest, "The body is not the JSON we read", "The body is not JSON that we read.",
			"The body is not JSON, or it is JSON that could be read in two ways: repeated members, fractions or exponents, data after the document, invalid text.", "Correct the body. `errors` names the place.", false},
		{codeInvalidRequest, http.StatusBadRequest, "The request is not valid", "The request does not follow the contract.",
			"A member, parameter or header is missing, unknown or outside what the contract allows, or the body did not arrive in time.", "Correct the request. `errors` names every place.", false},
		{codeKeyMissing, http.StatusBadRequest, "The Idempotency-Key header is missing", "This request needs an Idempotency-Key header.",
			"Without a key a repeat cannot be told from a second refund.", "Send a key that is new for every new request and the same for every repeat.", false},
		{codeKeyInvalid, http.StatusBadRequest, "The Idempotency-Key header is not valid", "An Idempotency-Key is 1 to 255 visible ASCII characters, bare or as a quoted string.",
			"The key is empty, too long, sent twice, or holds other characters than visible ASCII.", "Correct the key.", false},
		{codeInvalidCursor, http.StatusBadRequest, "The cursor is not valid", "The cursor was not made by this list with these filters.",
			"A cursor is valid only for the list and the filters that it came from.", "Start again without a cursor.", false},
		{codeUnauthorized, http.StatusUnauthorized, "A valid API key is needed", "Send a valid API key as bearer token.",
			"The Authorization header is missing or malformed, or its key is unknown, revoked or expired.", "Send a valid key as `Authorization: Bearer …`.", false},
		{codeScopeMissing, http.StatusForbidden, "The key lacks a scope", "The key may not do this.",
			"The key is valid, but it was not given the scope that the operation needs.", "Use a key with the scope named in `detail`.", false},
		{refund.CodeApproverIsMaker, http.StatusForbidden, "The approver has proposed it", "A decision is judged by another actor than the one who has proposed it.",
			"Two people decide about money: the maker may neither approve nor reject. Two keys of one actor are one actor.", "Let another actor approve.", false},
		{refund.CodeTenantClosed, http.StatusForbidden, "The tenant is closed", "The tenant takes no new requests. Reading goes on.",
			"The tenant was closed by an operator. What was accepted before is brought to its end.", "Ask the operator.", false},
		{refund.CodeNotFound, http.StatusNotFound, "Not found", "There is nothing here.",
			"No such path, or no such refund, payment or other thing of this tenant.", "Check the address.", false},
		{codeMethodNotAllowed, http.StatusMethodNotAllowed, "The method is not allowed", "The method is not allowed here; see the Allow header.",
			"The path exists, the method does not.", "Use one of the methods in the `Allow` header.", false},
		{codeTooLarge, http.StatusRequestEntityTooLarge, "The body is too large", "The body is too large.",
			"The body exceeds the size named in `detail`.", "Send less, or events in smaller batches.", false},
		{codeUnsupportedMedia, http.StatusUnsupportedMediaType, "The media type is not supported", "The body has another media type or encoding than the ones we read.",
			"The Content-Type is missing or not one of the contract's, its charset is not UTF-8, or the body is compressed.", "Send the media type named in `detail`, in UTF-8, without Content-Encoding.", false},
	}
}

func conflicts() []CodeInfo {
	const conflict = http.StatusConflict
	return []CodeInfo{
		{refund.CodeKeyReused, conflict, "The key was used for another request", "This Idempotency-Key was used with other parameters.",
			"A key names one request for good; this one has other parameters. `fields` names what differs.", "Use a new key for a new request; never for a repeat.", false},
		{refund.CodeRefundConflict, conflict, "The refund id is known with other parameters", "A refund with this refundId exists with other parameters.",
			"A refundId names one refund for ever. `fields` names what differs.", "Use a new refundId for another refund.", false},
		{refund.CodePaymentConflict, conflict, "The payment is known with other parameters", "The payment is known with other parameters.",
			"Order, currency, account and reference of a payment never change; a version of a snapshot has one content; a payment is told either by snapshots or by captures. `fields` names what differs.", "Read the payment and compare.", false},
		{refund.CodeBelowRefunded, conflict, "Less than what has already gone back", "The captured amount would be less than what is refunded, reserved or held.",
			"The snapshot says that less was captured than has been refunded or promised.", "Check the amount.", false},
		{refund.CodeInProgress, conflict, "Another request holds this", "Another request is working on the same refund or payment.",
			"The refund or the payment stayed locked for too long. Nothing was decided.", "Send the same request again after `Retry-After` seconds.", true},
		{refund.CodeCaseClosed, conflict, "The case is closed", "The case is closed.",
			"A fact or a decision has answered everything that the case asked. A closed case is not opened again.", "Read the refund; if it has another case, decide that one.", false},
		{refund.CodeDecisionNotAllowed, conflict, "The decision is not possible now", "The decision is not possible for the refund as it stands.",
			"`detail` says what is in the way; `GET /v1/cases/{caseId}` lists what is possible.", "Choose another decision, or wait.", false},
		{refund.CodeDecisionPending, conflict, "Another decision waits", "Another decision of this case waits.",
			"A proposal of another actor waits for its approval, or an approved one for its time. A case has one at a time.", "Judge the one that waits.", false},
		{refund.CodeDecisionVoid, conflict, "The decision is void", "Something has happened since the decision was made.",
			"A later fact, another line of the payment, another excess or the end of 24 hours makes a proposal void.", "Read the case again, then decide on what is known now.", false},
		{refund.CodeDecisionJudged, conflict, "The decision was judged", "The decision was judged by somebody else or another way.",
			"A proposal is judged once.", "Read the case.", false},
		{refund.CodeNotCancelable, conflict, "Too late to withdraw", "The refund can no longer be withdrawn.",
			"Something may already have reached the channel, or the refund has come to its end.", "Read the refund.", false},
		{refund.CodeNotRedrivable, conflict, "Not to be tried again", "A conflict is not tried again.",
			"The parked message carries other parameters than what is bound to its event or refund id. Trying it again cannot change that.", "Discard it, and find out who sent it.", false},
	}
}

func refusals() []CodeInfo {
	const no = http.StatusUnprocessableEntity
	return []CodeInfo{
		{refund.CodePaymentUnknown, no, "The payment is not known", "Make the payment known first, or send it along as payment.",
			"Nobody has told us of this payment yet. Nothing was stored.", "Send `PUT /v1/payments/{paymentId}` first, or the payment inside the request, then the same request again.", true},
		{refund.CodeCurrencyMismatch, no, "Another currency than the payment's", "The currency differs from the payment's.",
			"A refund is in the payment's currency.", "Correct the request; it needs a new key.", false},
		{refund.CodeOrderMismatch, no, "Another order than the payment's", "The order differs from the payment's.",
			"The payment belongs to another order.", "Correct the request; it needs a new key.", false},
		{refund.CodeAmountExceeds, no, "More than can still be refunded", "The amount is more than what can still be refunded of the payment.",
			"Captured minus reserved, refunded and held is less than the amount.", "Read the payment; send what is possible as a new request with a new key.", false},
		{refund.CodeNotExpressible, no, "The channel cannot express the amount", "The channel cannot express this amount exactly.",
			"The channel counts in another unit and the amount would have to be rounded, which never happens.", "Choose an amount that the channel can express.", false},
		{refund.CodeWindowClosed, no, "Too late for a refund", "The channel no longer takes refunds of this payment.",
			"The channel's refund window of this payment has ended.", "Return the money another way.", false},
		{refund.CodeCountExceeded, no, "Too many refunds of one payment", "The channel takes no further refund of this payment.",
			"The channel limits how many refunds one payment may have.", "Return the money another way.", false},
		{refund.CodeAccountNotAllowed, no, "The account is not available", "The tenant may not use this channel account.",
			"The channel account is not configured, or not for this tenant.", "Check `channelAccount`.", false},
		{refund.CodeEventExpired, no, "The event is too old", "The event is older than the time for which event ids are remembered.",
			"It cannot be told any more whether the event was seen before.", "Check by its refundId what became of it.", false},
		{refund.CodeEventUndated, no, "The event has no time", "Neither the event nor its broker says when it happened.",
			"Without a time it cannot be told whether the event is older than the time for which event ids are remembered.",
			"Publish it with the attribute `time`, or allow undated events for the bridge. One that is parked can be tried again on your word.", false},
	}
}

func notNow() []CodeInfo {
	return []CodeInfo{
		{codeRateLimited, http.StatusTooManyRequests, "Too many requests", "Too many requests in a short time.",
			"The caller is over its rate.", "Send the same request again after `Retry-After` seconds.", true},
		{codeInternal, http.StatusInternalServerError, "Internal error", "Something went wrong on our side. The request id finds it in the log.",
			"An error that we did not foresee.", "Send the same request again with the same key; if it stays, tell the operator the request id.", true},
		{codeUnavailable, http.StatusServiceUnavailable, "Not available", "The service cannot answer at the moment.",
			"The database is away, an answer took too long, or the process is shutting down. What was sent may or may not be stored.", "Send the same request again with the same key after `Retry-After` seconds.", true},
		{codeOverloaded, http.StatusServiceUnavailable, "Overloaded", "Too much is waiting already.",
			"The queue in front of the database is full. Nothing was stored.", "Send the same request again after `Retry-After` seconds, and slow down.", true},
	}
}
