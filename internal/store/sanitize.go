package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/refundry/refundry/internal/refund"
)

// The answer of a channel must be storable however wrong it is. These bounds keep a hostile or broken answer from failing its own
// transaction: PostgreSQL's text and jsonb refuse NUL and lone surrogates, jsonb refuses some numbers, and indexes refuse long values.
const (
	longestCode      = 200
	longestReference = 255
	longestEvidence  = 32 << 10
)

// sanitize returns the fact in a form that the tables always accept. An amount that no refund can have makes the answer Unknown: it proves
// nothing, and its text stays as evidence.
func sanitize(f refund.Fact) refund.Fact {
	if f.Amount < 0 || f.Amount > refund.MaxAmount {
		f.Kind, f.Rule, f.Amount, f.Currency, f.ChannelRefundID = refund.Unknown, "impossible-amount", 0, "", ""
	}
	f.ChannelRefundID = bounded(f.ChannelRefundID, longestCode)
	f.Code, f.Rule = bounded(f.Code, longestCode), bounded(f.Rule, longestCode)
	f.Currency = refund.Currency(bounded(string(f.Currency), longestCode))
	f.Names = boundedNames(f.Names)
	f.Evidence = evidence(f)
	return f
}

func boundedNames(n refund.Names) refund.Names {
	return refund.Names{Number: bounded(n.Number, longestCode), RefundID: bounded(n.RefundID, longestCode),
		PaymentReference: bounded(n.PaymentReference, longestReference), Conflict: bounded(n.Conflict, longestCode)}
}

// bounded removes what text columns refuse. A longer text keeps its beginning and ends with its hash, so that it stays unique.
func bounded(s string, limit int) string {
	s = clean(s)
	if len(s) <= limit {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return clean(s[:limit-64]) + hex.EncodeToString(sum[:])[:60]
}

func clean(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "�"), "�")
}

// evidence is the attempt's jsonb: what the channel's client saw, with the two keys that Load reads back.
func evidence(f refund.Fact) json.RawMessage {
	seen := map[string]any{}
	if len(f.Evidence) > longestEvidence {
		seen["cut"] = clean(string(f.Evidence[:longestEvidence]))
	} else if len(f.Evidence) > 0 {
		dec := json.NewDecoder(bytes.NewReader(f.Evidence))
		dec.UseNumber()
		if err := dec.Decode(&seen); err != nil || seen == nil {
			seen = map[string]any{"unreadable": clean(string(f.Evidence))}
		}
	}
	seen, _ = plain(seen, 0).(map[string]any)
	delete(seen, "code")
	delete(seen, "retryAfterMs")
	if f.Code != "" {
		seen["code"] = f.Code
	}
	if ms := f.RetryAfter.Milliseconds(); ms > 0 {
		seen["retryAfterMs"] = ms
	}
	out, err := json.Marshal(seen)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return out
}

// plain copies a decoded JSON value in a form that jsonb accepts: long numbers become text.
func plain(v any, depth int) any {
	if depth > 20 {
		return "nested too deep"
	}
	switch x := v.(type) {
	case string:
		return clean(x)
	case json.Number:
		if len(x) > 18 || strings.ContainsAny(string(x), "eE") {
			return string(x)
		}
		return x
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = plain(e, depth+1)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[clean(k)] = plain(e, depth+1)
		}
		return out
	}
	return v
}
