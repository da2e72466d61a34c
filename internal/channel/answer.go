package channel

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/refundry/refundry/api/strictjson"
	"github.com/refundry/refundry/internal/refund"
)

// codeLists returns the code lists of a contract, each with the kind of fact that its codes prove.
func codeLists(c refund.CodeTerms) []struct {
	rule  string
	kind  refund.FactKind
	codes []string
} {
	return []struct {
		rule  string
		kind  refund.FactKind
		codes []string
	}{
		{"codes.echo", refund.RefusedEcho, c.Echo},
		{"codes.passesLater", refund.Unknown, c.PassesLater},
		{"codes.retryable", refund.Retryable, c.Retryable},
		{"codes.newNumber", refund.RefusedNewNumber, c.NewNumber},
		{"codes.refused", refund.RefusedClean, c.Refused},
	}
}

// ByCode returns what the code lists of the contract say about an error code of a send, and the name of the list. A code in
// no list is Unknown, rule "codes.unlisted".
func ByCode(terms refund.CodeTerms, code string) (kind refund.FactKind, rule string) {
	for _, list := range codeLists(terms) {
		if slices.Contains(list.codes, code) {
			return list.kind, list.rule
		}
	}
	return refund.Unknown, "codes.unlisted"
}

// checkCodes returns an error when a code is empty or in two lists, or when a code of codes.lowBalance is neither retryable
// nor takes a new number.
func checkCodes(terms refund.CodeTerms) error {
	seen := map[string]string{}
	for _, list := range codeLists(terms) {
		for _, code := range list.codes {
			if before, twice := seen[code]; twice || code == "" {
				return fmt.Errorf("code %q is in %s and in %s", code, before, list.rule)
			}
			seen[code] = list.rule
		}
	}
	for _, code := range terms.LowBalance {
		if seen[code] != "codes.retryable" && seen[code] != "codes.newNumber" {
			return fmt.Errorf("code %q of codes.lowBalance is neither in codes.retryable nor in codes.newNumber", code)
		}
	}
	return nil
}

// Failed returns the answer of a call that Do could not finish: NotSent or Unknown.
func Failed(reply Reply, err error) refund.Answer {
	a := refund.Answer{Kind: refund.Unknown, Rule: "call.ambiguous", Evidence: Evidence(reply, err)}
	if errors.Is(err, ErrNotSent) {
		a.Kind, a.Rule = refund.NotSent, "call.not-sent"
	}
	return a
}

const (
	maxRetryAfter   = 24 * time.Hour
	maxEvidenceBody = 16 << 10
	maxReceived     = 4 << 10 // of an encoded body
)

// RetryAfter reads the Retry-After header (RFC 9110, section 10.2.3), in seconds or as a date. It returns 0 when the header
// is absent, cannot be read or is in the past, and at most 24 hours.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return min(max(0, time.Duration(seconds)*time.Second), maxRetryAfter)
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(0, date.Sub(now)), maxRetryAfter)
	}
	return 0
}

// evidence is what is stored of a call, for people and for the export.
type evidence struct {
	Status int             `json:"status,omitempty"`
	SentAt *time.Time      `json:"sentAt,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`  // when it is JSON with one reading, of at most maxEvidenceBody bytes
	Text   string          `json:"text,omitempty"`  // otherwise its beginning
	Bytes  int             `json:"bytes,omitempty"` // its length, when it is not kept whole
	Error  string          `json:"error,omitempty"`

	Encoding string `json:"encoding,omitempty"` // Content-Encoding of the body as it came
	Received []byte `json:"received,omitempty"` // the body with it, in base64, at most maxReceived bytes
}

// Evidence returns the channel's answer as a JSON object. It contains nothing of the request, whose headers have the
// secrets.
func Evidence(reply Reply, err error) json.RawMessage {
	e := evidence{Status: reply.Status}
	if !reply.SentAt.IsZero() {
		at := reply.SentAt.UTC().Round(0)
		e.SentAt = &at
	}
	if err != nil {
		e.Error = strings.ToValidUTF8(err.Error(), "�")
	}
	if n := len(reply.Received); n > 0 {
		e.Encoding, e.Received = strings.ToValidUTF8(reply.Header.Get("Content-Encoding"), "�"), reply.Received[:min(n, maxReceived)]
	}
	encoded := len(reply.Received) == 0 && reply.Header.Get("Content-Encoding") != ""
	switch n := len(reply.Body); {
	case n == 0:
	case encoded && err != nil: // it could not be decoded
		e.Encoding, e.Received, e.Bytes = strings.ToValidUTF8(reply.Header.Get("Content-Encoding"), "�"), reply.Body[:min(n, maxReceived)], n
	case n <= maxEvidenceBody && strictjson.Read(reply.Body, func(strictjson.Value) {}) == nil: // a column of JSON would drop the second reading
		e.Body = reply.Body
	default:
		e.Text = strings.ToValidUTF8(string(reply.Body[:min(n, maxEvidenceBody)]), "�")
		e.Bytes = n
	}
	out, err := json.Marshal(e)
	if err != nil {
		return json.RawMessage(`{"error":"the evidence could not be encoded"}`)
	}
	return out
}
