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

	"github.com/refundry/refundry/internal/refund"
)

// codeLists are the meanings that a contract can give to a code.
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
		{"codes.retryable", refund.Retryable, c.Retryable},
		{"codes.newNumber", refund.RefusedNewNumber, c.NewNumber},
		{"codes.refused", refund.RefusedClean, c.Refused},
	}
}

// ByCode is what the contract's code lists make of an error code of a send, and
// the list that said so. A code in no list is Unknown, rule "codes.unlisted".
func ByCode(terms refund.CodeTerms, code string) (kind refund.FactKind, rule string) {
	for _, list := range codeLists(terms) {
		if slices.Contains(list.codes, code) {
			return list.kind, list.rule
		}
	}
	return refund.Unknown, "codes.unlisted"
}

// checkCodes refuses a contract in which a code means two things.
func checkCodes(terms refund.CodeTerms) error {
	seen := map[string]string{}
	for _, list := range codeLists(terms) {
		for _, code := range list.codes {
			if before, twice := seen[code]; twice || code == "" {
				return fmt.Errorf("code %q stands in %s and %s", code, before, list.rule)
			}
			seen[code] = list.rule
		}
	}
	for _, code := range terms.LowBalance {
		if seen[code] != "codes.retryable" {
			return fmt.Errorf("code %q of codes.lowBalance is not in codes.retryable", code)
		}
	}
	return nil
}

// Failed is the answer of a call that Do could not finish: NotSent or Unknown.
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
)

// RetryAfter reads the header of that name (RFC 9110, section 10.2.3), seconds or
// a date; 0 when it is absent, unreadable or past. At most a day.
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

// evidence is what is kept of a call, for people and for the export.
type evidence struct {
	Status int             `json:"status,omitempty"`
	SentAt *time.Time      `json:"sentAt,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`  // when it is JSON and not long
	Text   string          `json:"text,omitempty"`  // else its beginning
	Bytes  int             `json:"bytes,omitempty"` // its length, when only the beginning is kept
	Error  string          `json:"error,omitempty"`
}

// Evidence makes a JSON object of what came back. Only the answer is in it: the
// request's headers, and so the secrets, are not.
func Evidence(reply Reply, err error) json.RawMessage {
	e := evidence{Status: reply.Status}
	if !reply.SentAt.IsZero() {
		at := reply.SentAt.UTC().Round(0)
		e.SentAt = &at
	}
	if err != nil {
		e.Error = strings.ToValidUTF8(err.Error(), "�")
	}
	switch n := len(reply.Body); {
	case n == 0:
	case n <= maxEvidenceBody && json.Valid(reply.Body):
		e.Body = reply.Body
	default:
		e.Text = strings.ToValidUTF8(string(reply.Body[:min(n, maxEvidenceBody)]), "�")
		e.Bytes = n
	}
	out, err := json.Marshal(e)
	if err != nil {
		return json.RawMessage(`{"error":"the evidence cannot be written"}`)
	}
	return out
}
