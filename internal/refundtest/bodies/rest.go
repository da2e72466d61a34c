package bodies

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// refundRequest makes a POST /v1/refunds.
func (g gen) refundRequest(i int) Request {
	r := Request{Method: http.MethodPost, Target: "/v1/refunds", Header: [][2]string{{"Content-Type", "application/json"}, {"Idempotency-Key",
		"key-" + strconv.Itoa(i)}}}
	g.fill(&r, "refund", refundFields)
	return r
}

// paymentRequest makes a PUT /v1/payments/{paymentId}.
func (g gen) paymentRequest(_ int) Request {
	id := g.id()
	if g.chance(6) {
		id = pick(g, append(badIDs[1:], "\xff", "\x00", ".", ".."))
	}
	r := Request{Method: http.MethodPut, Target: "/v1/payments/" + url.PathEscape(id), Header: [][2]string{{"Content-Type", "application/json"}}}
	g.fill(&r, "payment", paymentFields)
	return r
}

// fill gives a request its body. One in sixteen also has another header or query.
func (g gen) fill(r *Request, name string, fields []field) {
	var label string
	switch roll := g.below(1000); {
	case roll < 6:
		r.Body, label = g.padded(g.object(fields).write(g))
		r.UnknownLength = g.chance(50)
	case roll < 66:
		r.Body, label = g.object(fields).write(g), "plain"
		if g.chance(15) {
			r.Body, label = g.data(fields)
		}
		label = g.transport(r) + "+" + label
	default:
		r.Body, label = g.data(fields)
		r.UnknownLength = g.chance(2)
	}
	r.Kind = name + ":" + label
}

// transport changes what comes with the body.
func (g gen) transport(r *Request) string {
	switch n := g.below(10); {
	case n < 3 && r.Method == http.MethodPost:
		key := pick(g, []string{"", " ", `""`, `"quoted"`, `"quo ted"`, `"open`, `open"`, `"a\"b"`, `"a\x"`, `"a";p=1`, "a b", "é", "a\x7f",
			"  spaces-around ", "a,b", `a"b`,
			strings.Repeat("k", 255), strings.Repeat("k", 256), `"` + strings.Repeat("k", 255) + `"`, `"` + strings.Repeat("k", 256) + `"`})
		r.Header[1][1] = key
		switch g.below(6) {
		case 0:
			r.Header = r.Header[:1]
			return "key/missing"
		case 1:
			r.Header = append(r.Header, [2]string{"Idempotency-Key", pick(g, []string{"other", key})})
			return "key/twice"
		}
		return "key/value"
	case n < 6:
		media := pick(g, []string{"", "text/plain", "application/json; charset=utf-8", "application/json;charset=\"UTF-8\"",
			"application/json; charset=latin1", "Application/JSON",
			"application/json;", "application/json; x", "application/json; v=1", "application/problem+json", "application/cloudevents+json", "*/*",
			"application/json, text/plain", "json"})
		r.Header[0][1] = media
		switch g.below(6) {
		case 0:
			r.Header = r.Header[1:]
			return "media/missing"
		case 1:
			r.Header = append(r.Header, [2]string{"Content-Type", pick(g, []string{"application/json", "text/plain"})})
			return "media/twice"
		}
		return "media/value"
	case n < 8:
		r.Header = append(r.Header, [2]string{"Content-Encoding", pick(g, []string{"gzip", "identity", "Identity", "", "br", "deflate, gzip"})})
		return "encoding"
	}
	r.Target += pick(g, []string{"?", "?x=1", "?amount=1", "?=1", "?%zz", "?x", "?x=1&x=2", "?" + strings.Repeat("q", 80) + "=1"})
	return "query"
}
