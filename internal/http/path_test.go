package httpapi_test

import (
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refund/intake"
)

// Values in paths are decoded once, whichever characters a client encodes, and then checked.
func TestPathValuesAreDecodedOnce(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.set(sampleRefund("rf:1"))
	w.messages = []intake.Message{{Consumer: "orders", EventID: "e", FirstSeen: epoch, LastSeen: epoch, TimesSeen: 1, Outcome: "TAKEN"}}
	for path, want := range map[string]int{
		"/v1/refunds/rf:1": 200, "/v1/refunds/rf%3A1": 200, "/v1/refunds/%72f%3a1": 200, "/v1/%72efunds/rf:1": 200,
		"/v1/refunds/rf%253A1": 400, "/v1/refunds/rf%2F1": 400, "/v1/refunds/rf%3A1%2F": 400, "/v1/refunds/rf%20": 400, "/v1/refunds/%2E%2E": 400,
		"/v1/refunds/rf%3A2": 404, "/v1/cases/%30": 400, "/problems/%69nternal": 200, "/problems/a%2Fb": 404,
	} {
		if r := c.do("GET", path, ""); r.status != want {
			t.Errorf("%s: %d %s, want %d", path, r.status, r.body, want)
		}
	}
	for path, want := range map[string]string{
		"orders/a%2Fb": "orders a/b ", "orders/a%252Fb": "orders a%2Fb ", "orders/100%25": "orders 100% ", "orders/a%2fb%25": "orders a/b% ",
		"orders/%E2%82%AC+": "orders €+ ",
	} {
		c.do("GET", "/v1/messages/"+path, "")
		if w.asked != want {
			t.Errorf("%s asks for %q, want %q", path, w.asked, want)
		}
	}
}

// HEAD is answered as GET, without a body, wherever there is a GET.
func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.set(sampleRefund("rf_1001"))
	for _, path := range []string{"/livez", "/readyz", "/version", "/openapi.yaml", "/docs", "/docs/init.js", "/problems", "/problems/internal",
		"/v1/refunds", "/v1/refunds/rf_1001", "/v1/refunds/unknown", "/v1/cases", "/v1/messages", "/v1/parked"} {
		get, head := c.do("GET", path, ""), c.do("HEAD", path, "")
		if head.status != get.status || head.body != "" || head.header.Get("Content-Type") != get.header.Get("Content-Type") ||
			head.header.Get("ETag") != get.header.Get("ETag") {
			t.Errorf("HEAD %s: %d %v, want as GET: %d %v", path, head.status, head.header, get.status, get.header)
		}
	}
	if r := c.do("HEAD", "/v1/events", ""); r.status != 405 || r.header.Get("Allow") != "POST" {
		t.Errorf("HEAD /v1/events: %d, Allow: %s", r.status, r.header.Get("Allow"))
	}
	if r := c.do("DELETE", "/v1/refunds/rf%3A1", ""); r.status != 405 || r.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE of a refund: %d, Allow: %s", r.status, r.header.Get("Allow"))
	}
	if r := c.do("HEAD", "/v1/refunds/rf_1001", "", "Authorization", ""); r.status != 401 {
		t.Errorf("HEAD without a key: %d, want 401", r.status)
	}
}

// The media type of a request is read as RFC 9110 says. A charset counts only if it says that the bytes are not UTF-8.
func TestMediaTypesOfRequests(t *testing.T) {
	t.Parallel()
	_, c := serve(t, nil)
	for media, want := range map[string]int{
		"application/json": 202, "Application/JSON": 202, "text/json": 202, "application/vnd.shop+json; version=2": 202,
		"application/json; charset=utf8": 202, "application/json; charset=": 202, `application/json;charset="UTF-8"`: 202, "application/json; charset=us-ascii": 202,
		"application/json; charset=latin1": 415, "application/merge-patch+json": 415, "application/problem+json": 415, "application/cloudevents+json": 415,
		"text/plain": 415, "application/jsonp": 415, "json": 415,
	} {
		if r := c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", "k", "Content-Type", media); r.status != want {
			t.Errorf("%s: %d %s, want %d", media, r.status, r.body, want)
		}
	}
	if r := c.do("POST", "/v1/refunds", strings.Replace(refundBody, "damaged", "\xe9", 1), "Idempotency-Key", "k", "Content-Type", "application/json; charset=utf8"); r.status != 400 {
		t.Errorf("bytes that are not UTF-8: %d, want 400", r.status)
	}
}
