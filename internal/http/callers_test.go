package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// recorded is one request as a client sent it. test/callers/record.py records them.
type recorded struct {
	client, name string
	bytes        []byte
}

// recordings reads the requests in testdata: for each, a line "=== name, number of bytes", the bytes, and an end of line.
func recordings(t *testing.T, folder string) []recorded {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	var out []recorded
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		client := strings.TrimSuffix(filepath.Base(file), ".txt")
		for r := bufio.NewReader(bytes.NewReader(text)); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				break
			}
			title, isTitle := strings.CutPrefix(line, "=== ")
			if !isTitle {
				continue
			}
			comma := strings.LastIndex(title, ", ")
			n, err := strconv.Atoi(strings.TrimSpace(title[comma+2:]))
			if err != nil {
				t.Fatalf("%s: %q", file, line)
			}
			raw := make([]byte, n)
			if _, err := io.ReadFull(r, raw); err != nil {
				t.Fatalf("%s: %q: %v", file, line, err)
			}
			out = append(out, recorded{client, title[:comma], raw})
		}
	}
	return out
}

// callersServer is a real server whose backend knows what the recorded requests ask for.
func callersServer(t *testing.T, bodyTime time.Duration) (*fakeBackend, *httpapi.Server) {
	t.Helper()
	w, s := startServer(t, bodyTime)
	for _, id := range []string{"rf:1@a+b=c~d", "rf_1001"} {
		w.set(sampleRefund(id))
	}
	w.timeline = httpapi.Timeline{Refund: sampleRefund("rf:1@a+b=c~d")}
	w.act = func(id string) (refund.Refund, error) { return sampleRefund(id), nil }
	w.messages = []intake.Message{{Consumer: "orders", EventID: "a/b 100%", FirstSeen: epoch, LastSeen: epoch, TimesSeen: 1, Outcome: "TAKEN"}}
	return w, s
}

// exchange sends bytes on a new connection and reads one answer to a request of that method.
func exchange(t *testing.T, s *httpapi.Server, raw []byte, halfClose bool) (*http.Response, string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := conn.Write(raw); err != nil {
		t.Fatal(err)
	}
	if halfClose {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	method, _, _ := strings.Cut(string(raw), " ")
	in := bufio.NewReader(conn)
	for {
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%.60q: no answer: %v", raw, err)
		}
		if res.StatusCode == http.StatusContinue {
			continue
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
}

// rightAnswers are the right answers to the recorded requests, by their names.
var rightAnswers = map[string]func(*testing.T, recorded, *http.Response, string){
	"I1 an id is encoded":                                        is(200, `"refundId":"rf:1@a+b=c~d"`),
	"I1 an id is encoded before another segment":                 is(200, `"refundId":"rf:1@a+b=c~d"`),
	"I1 an event id with a slash":                                is(200, `"eventId":"a/b 100%"`),
	"I2 a refund has two dots for an id":                         is(400, `"pointer":"/refundId"`),
	"I9 a check has no body":                                     is(202, `"refundId":"rf_1001"`),
	"I9 a check has an empty chunked body":                       is(202, `"refundId":"rf_1001"`),
	"I10 HEAD of a refund":                                       isHead,
	"I10 HEAD of the liveness":                                   isHead,
	"I11 I14 a refund":                                           is(202, `"refundId":"rf_1001"`),
	"I15 the charset is utf8":                                    is(202, `"refundId":"rf_1001"`),
	"I15 the charset is empty":                                   is(202, `"refundId":"rf_1001"`),
	"I12 an event in binary mode":                                isEvent("accepted"),
	"I12 an event in structured mode":                            isEvent("accepted"),
	"I12 an event with Prefer: return=minimal":                   isSilent,
	"I4 an event in binary mode with another media type of JSON": isEvent("accepted"),
	"I5 an event in binary mode without a media type":            isEvent(""), // some clients add one that is not JSON
	"I5 an event in binary mode with text":                       isEvent("undecodable"),
	"I5 a body cut off in structured mode":                       isEvent("undecodable"),
	"I6 quoted and encoded attributes":                           isEvent("accepted"),
	"I3 I4 I7 I8 a batch":                                        isBatch(6, "accepted"),
	"I17 a body of 1000 bad events":                              isBatch(1000, "undecodable"),
}

func is(status int, text string) func(*testing.T, recorded, *http.Response, string) {
	return func(t *testing.T, r recorded, res *http.Response, body string) {
		t.Helper()
		if res.StatusCode != status || !strings.Contains(body, text) {
			t.Errorf("%s: %s: %d %s, want %d with %s", r.client, r.name, res.StatusCode, body, status, text)
		}
	}
}

func isHead(t *testing.T, r recorded, res *http.Response, body string) {
	t.Helper()
	if res.StatusCode != 200 || body != "" || res.Header.Get("Content-Type") != "application/json" || res.ContentLength <= 0 {
		t.Errorf("%s: %s: %d %v %q, want 200 with the header of GET and no body", r.client, r.name, res.StatusCode, res.Header, body)
	}
}

func isSilent(t *testing.T, r recorded, res *http.Response, body string) {
	t.Helper()
	if res.StatusCode != 204 || body != "" || res.Header.Get("Preference-Applied") != "return=minimal" {
		t.Errorf("%s: %s: %d %v %q, want 204", r.client, r.name, res.StatusCode, res.Header, body)
	}
}

// isEvent wants a verdict in the form that the request's own Accept header asks for, "" = any verdict.
func isEvent(outcome string) func(*testing.T, recorded, *http.Response, string) {
	return func(t *testing.T, r recorded, res *http.Response, body string) {
		t.Helper()
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.bytes)))
		if err != nil {
			t.Fatal(err)
		}
		accept := req.Header.Get("Accept")
		status, text := 204, ""
		if strings.Contains(accept, "application/json") || req.Header.Get("ce-id") == "" && strings.Contains(accept, "*/*") {
			status, text = 200, `"outcome":"`+outcome
		}
		if res.StatusCode != status || !strings.Contains(body, text) || status == 204 && body != "" {
			t.Errorf("%s: %s: %d %s, want %d with %s", r.client, r.name, res.StatusCode, body, status, text)
		}
	}
}

func isBatch(n int, outcome string) func(*testing.T, recorded, *http.Response, string) {
	return func(t *testing.T, r recorded, res *http.Response, body string) {
		t.Helper()
		if res.StatusCode != 200 || strings.Count(body, `"outcome":"`+outcome+`"`) != n {
			t.Errorf("%s: %s: %d %.2000s, want %d events %s", r.client, r.name, res.StatusCode, body, n, outcome)
		}
	}
}

// Requests of HTTP clients are answered as the standards say, whichever way a client writes them.
func TestRequestsOfHTTPClientsAreUnderstood(t *testing.T) {
	t.Parallel()
	_, s := callersServer(t, 20*time.Second)
	clients := map[string]bool{}
	for _, r := range recordings(t, "callers") {
		clients[r.client] = true
		right, known := rightAnswers[r.name]
		if !known {
			t.Errorf("%s: %s has no right answer", r.client, r.name)
			continue
		}
		res, body := exchange(t, s, r.bytes, false)
		right(t, r, res, body)
	}
	if len(clients) < 12 {
		t.Errorf("recordings of %d clients, want at least 12", len(clients))
	}
}

// A client that closes its half of the connection after its request gets the same answer.
func TestHalfClosedConnectionsAreAnswered(t *testing.T) {
	t.Parallel()
	w, s := callersServer(t, 20*time.Second)
	w.accept = func(g []intake.Intake) ([]intake.Outcome, error) {
		<-time.After(50 * time.Millisecond) // the server has seen the end of the request by now
		return accepted(g), nil
	}
	for _, r := range recordings(t, "callers") {
		if slices.Contains([]string{"I11 I14 a refund", "I1 an id is encoded", "I12 an event in structured mode"}, r.name) {
			res, body := exchange(t, s, r.bytes, true)
			rightAnswers[r.name](t, r, res, body)
		}
		if r.name == "I11 I14 a refund" { // a wait ends, because nobody may be there
			waiting := bytes.Replace(r.bytes, []byte("\r\n"), []byte("\r\nPrefer: wait=30\r\n"), 1)
			began := time.Now()
			res, body := exchange(t, s, waiting, true)
			if rightAnswers[r.name](t, r, res, body); res.Header.Get("Preference-Applied") != "" || time.Since(began) > 20*time.Second {
				t.Errorf("%s: Preference-Applied %q after %s, want none at once", r.client, res.Header.Get("Preference-Applied"), time.Since(began))
			}
		}
	}
}

func accepted(g []intake.Intake) []intake.Outcome {
	out := make([]intake.Outcome, len(g))
	for i, in := range g {
		r := sampleRefund(in.Refund.RefundID)
		out[i] = intake.Outcome{Verdict: intake.Taken, Refund: &r}
	}
	return out
}

// A body that stalls may be sent again; nothing of it is decided.
func TestStalledBodiesMayBeSentAgain(t *testing.T) {
	t.Parallel()
	w, s := callersServer(t, 100*time.Millisecond)
	for _, r := range recordings(t, "callers") {
		if r.name != "I11 I14 a refund" && r.name != "I3 I4 I7 I8 a batch" {
			continue
		}
		half := r.bytes[:len(r.bytes)-40]
		res, body := exchange(t, s, half, false)
		is(408, `"retryable":true`)(t, r, res, body)
		if res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", r.client)
		}
	}
	chunked := fmt.Sprintf("POST /v1/refunds/rf_1001/check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nTransfer-Encoding: chunked\r\n\r\n", writerKey)
	res, body := exchange(t, s, []byte(chunked), false)
	is(408, `"code":"body-incomplete"`)(t, recorded{"written here", "no first chunk", nil}, res, body)
	if len(w.touched) > 0 {
		t.Errorf("incomplete requests did %v", w.touched)
	}
}

// sameRefund fails the test unless the backend got the one refund that every SDK sends.
func sameRefund(t *testing.T, name string, w *fakeBackend) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.accepted = nil }()
	want := refund.Params{RefundID: "rf_1001", OrderID: "ord_77", PaymentID: "pay_77", Amount: 1250, Currency: "USD"}
	if len(w.accepted) != 1 || w.accepted[0].Refund == nil || w.accepted[0].Refund.Params != want || w.accepted[0].Event.Source != "/shop" {
		t.Errorf("%s: accepted %+v", name, w.accepted)
		return
	}
	if strings.Contains(name, "encoded") != (w.accepted[0].Event.ID == `evt 7 € "100%"`) {
		t.Errorf("%s: the event's id is %q", name, w.accepted[0].Event.ID)
	}
}
