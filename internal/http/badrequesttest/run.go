package badrequesttest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Target is the server under test.
type Target struct {
	BaseURL   string
	Client    *http.Client
	WriterKey string // with refunds:write and refunds:read
	ReaderKey string // of the same tenant, with refunds:read only
	// Untouched is called after every case and fails the test if the request has
	// stored anything.
	Untouched func(t *testing.T)
}

// Run sends every case of the table, one after another.
func Run(t *testing.T, target Target) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			check(t, c, send(t, target, c))
			target.Untouched(t)
		})
	}
}

// answer is the answer to a case.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func send(t *testing.T, target Target, c Case) answer {
	t.Helper()
	var body io.Reader
	if c.Body != "" {
		body = strings.NewReader(c.Body)
	}
	if c.Chunks {
		body = io.MultiReader(body) // without a known length
	}
	req, err := http.NewRequestWithContext(t.Context(), c.Method, target.BaseURL+c.Path, body)
	if err != nil {
		t.Fatal(err)
	}
	if c.Method == http.MethodPost || c.Method == http.MethodPut {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "bad-"+strings.ReplaceAll(c.Name, " ", "-"))
		for _, bad := range req.Header["Idempotency-Key"][0] {
			if bad > 0x7e {
				req.Header.Set("Idempotency-Key", "bad")
			}
		}
	}
	authorize(req.Header, target, c.Who)
	for name, value := range c.Header {
		if value == "" {
			req.Header.Del(name)
			continue
		}
		req.Header.Set(name, value)
	}
	res, err := target.Client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, text}
}

func authorize(h http.Header, target Target, who Who) {
	other := func(key string) string {
		if strings.HasPrefix(key, "rfk_test_") {
			return strings.Replace(key, "rfk_test_", "rfk_live_", 1)
		}
		return strings.Replace(key, "rfk_live_", "rfk_test_", 1)
	}
	switch who {
	case Writer:
		h.Set("Authorization", "Bearer "+target.WriterKey)
	case Reader:
		h.Set("Authorization", "Bearer "+target.ReaderKey)
	case WrongKey:
		h.Set("Authorization", "Bearer "+target.WriterKey[:len("rfk_test_")]+"zzzzzzzz_"+strings.Repeat("0", 43))
	case OtherMode:
		h.Set("Authorization", "Bearer "+other(target.WriterKey))
	case WrongWay:
		h.Set("Authorization", "Basic "+target.WriterKey)
	case TwoHeaders:
		h["Authorization"] = []string{"Bearer " + target.WriterKey, "Bearer " + target.WriterKey}
	case Nobody:
	}
}

type document struct {
	Type, Title, Code, Detail, RequestID string
	Status                               int
	Retryable                            *bool
	Errors                               []struct{ Pointer, Parameter, Header *string }
}

func check(t *testing.T, c Case, a answer) {
	t.Helper()
	if a.status != c.Status {
		t.Fatalf("status %d, want %d: %s", a.status, c.Status, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("content type %q, want a problem document: %s", got, a.body)
	}
	var d document
	if err := json.Unmarshal(a.body, &d); err != nil {
		t.Fatalf("the problem is not JSON: %v: %s", err, a.body)
	}
	if d.Code != c.Code || d.Type != "/problems/"+c.Code || d.Status != c.Status || d.Title == "" || d.Detail == "" || d.Retryable == nil {
		t.Errorf("problem %s, want code %s with type, title, status, detail and retryable", a.body, c.Code)
	}
	if d.RequestID == "" || d.RequestID != a.header.Get("X-Request-Id") {
		t.Errorf("requestId %q, want the header X-Request-Id, %q", d.RequestID, a.header.Get("X-Request-Id"))
	}
	if c.Status == http.StatusMethodNotAllowed && a.header.Get("Allow") == "" {
		t.Error("405 without Allow")
	}
	if c.Status == http.StatusUnauthorized && a.header.Get("WWW-Authenticate") == "" {
		t.Error("401 without WWW-Authenticate")
	}
	if c.Where != "" && !d.names(c.Where) {
		t.Errorf("errors do not name %s: %s", c.Where, a.body)
	}
	for _, leak := range []string{"Schema:", "Value:", "rfk_", "panic", "goroutine", "SQLSTATE", ".go:"} {
		if strings.Contains(string(a.body), leak) {
			t.Errorf("the answer contains %q: %s", leak, a.body)
		}
	}
}

func (d document) names(where string) bool {
	is := func(p *string, want string) bool { return p != nil && *p == want }
	for _, e := range d.Errors {
		if name, ok := strings.CutPrefix(where, "header:"); ok && is(e.Header, name) {
			return true
		}
		if name, ok := strings.CutPrefix(where, "parameter:"); ok && is(e.Parameter, name) {
			return true
		}
		if where == "/" && is(e.Pointer, "") || is(e.Pointer, where) {
			return true
		}
	}
	return false
}
