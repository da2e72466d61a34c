package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

const (
	typeEvent = "application/cloudevents+json"
	typeBatch = "application/cloudevents-batch+json"
)

func eventBody(id, data string) string {
	return `{"specversion":"1.0","id":"` + id + `","source":"/shop","type":"refund.requested","tenantid":"demo","data":` + data + `}`
}

func requestOfRefund(id string) string { return strings.Replace(refundBody, "rf_1001", id, 1) }

type verdict struct {
	Index               int
	Source, ID, Outcome string
	RefundID, State     *string
	Problem             *struct {
		Code      string
		Retryable bool
		Fields    []string
		Errors    []struct{ Pointer string }
	}
}

func verdicts(t *testing.T, r reply) []verdict {
	t.Helper()
	var out struct{ Results []verdict }
	if err := json.Unmarshal([]byte(r.body), &out); err != nil || r.status != 200 {
		t.Fatalf("%d %s %v", r.status, r.body, err)
	}
	return out.Results
}

// A bad event does not block the others of its batch, and no event makes a sender
// repeat for ever.
func TestBatchGetsOneVerdictPerEvent(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.accept = func(g []intake.Intake) ([]intake.Outcome, error) {
		out := make([]intake.Outcome, len(g))
		for i, in := range g {
			if in.Event.Consumer != intake.ConsumerEvents || in.Park == nil || len(in.Park.Body) == 0 || in.Tenant.Code != "demo" {
				t.Errorf("intake = %+v", in)
			}
			r := sampleRefund(in.Refund.RefundID)
			switch in.Event.ID {
			case "e-new":
				out[i] = intake.Outcome{Verdict: intake.Taken, Refund: &r}
			case "e-old":
				r.State = refund.StateSuccess
				out[i] = intake.Outcome{Verdict: intake.Replayed, Refund: &r}
			case "e-conflict":
				out[i] = intake.Outcome{Verdict: intake.Conflict, Code: refund.CodeRefundConflict, Fields: []string{"amount"}}
			case "e-refused":
				out[i] = intake.Outcome{Verdict: intake.Refused, Code: refund.CodeAmountExceeds}
			case "e-early":
				out[i] = intake.Outcome{Verdict: intake.Waiting, Code: refund.CodePaymentUnknown}
			}
		}
		return out, nil
	}
	float := strings.Replace(refundBody, "1250", "12.50", 1)
	twice := strings.Replace(refundBody, `"amount":1250`, `"amount":1250,"amount":1`, 1)
	batch := "[" + strings.Join([]string{
		eventBody("e-new", refundBody), eventBody("e-float", float), eventBody("e-old", refundBody), `{"hello":"world"}`,
		eventBody("e-conflict", refundBody), eventBody("e-refused", refundBody), eventBody("e-early", refundBody), eventBody("e-twice", twice),
		strings.Replace(eventBody("e-other", refundBody), `"demo"`, `"rich"`, 1), `17`,
	}, ",") + "]"
	got := verdicts(t, c.do("POST", "/v1/events", batch, "Content-Type", typeBatch))
	want := []struct{ outcome, code, pointer string }{
		{"accepted", "", ""}, {"undecodable", "invalid-request", "/data/amount"},
		{"replayed", "", ""}, {"undecodable", "invalid-request", "/specversion"},
		{"conflict", "refund-parameters-conflict", ""}, {"refused", "amount-exceeds-refundable", ""},
		{"waiting", "payment-unknown", ""}, {"undecodable", "invalid-request", "/data/amount"},
		{"undecodable", "invalid-request", "/tenantid"}, {"undecodable", "invalid-request", ""},
	}
	if len(got) != len(want) {
		t.Fatalf("%d verdicts for %d events", len(got), len(want))
	}
	for i, v := range got {
		if v.Index != i || v.Outcome != want[i].outcome || (v.Problem == nil) != (want[i].code == "") {
			t.Errorf("verdict %d = %+v, want %+v", i, v, want[i])
			continue
		}
		if v.Problem != nil && (v.Problem.Code != want[i].code || (want[i].outcome == "undecodable" && v.Problem.Errors[0].Pointer != want[i].pointer)) {
			t.Errorf("verdict %d: problem %+v, want %+v", i, *v.Problem, want[i])
		}
	}
	if *got[2].State != "SUCCESS" || *got[2].RefundID != "rf_1001" {
		t.Errorf("verdict %+v, want the current state of the refund with a replay", got[2])
	}
	if len(w.poison) != 5 {
		t.Errorf("%d undecodable events were parked, want 5", len(w.poison))
	}
}

func TestSingleAndBinaryEvents(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	for _, contentType := range []string{typeEvent, "Application/CloudEvents+JSON; charset=UTF-8"} {
		v := verdicts(t, c.do("POST", "/v1/events", eventBody("e-1", refundBody), "Content-Type", contentType))
		if len(v) != 1 || v[0].Outcome != "accepted" || v[0].ID != "e-1" {
			t.Errorf("%s: %+v", contentType, v)
		}
	}
	v := verdicts(t, c.do("POST", "/v1/events", refundBody, "Content-Type", "application/json", "ce-specversion", "1.0",
		"ce-id", "e%20%E2%82%AC", "ce-source", "/shop", "ce-type", "refund.requested", "ce-tenantid", "demo"))
	if len(v) != 1 || v[0].Outcome != "accepted" || v[0].ID != "e €" || v[0].Source != "/shop" {
		t.Errorf("binary mode: %+v", v)
	}
	if len(w.accepted) != 3 || w.accepted[2].Refund.Params != w.accepted[0].Refund.Params {
		t.Errorf("accepted %+v, want the same refund in all three modes", w.accepted)
	}
	if v := verdicts(t, c.do("POST", "/v1/events", "[]", "Content-Type", typeBatch)); len(v) != 0 {
		t.Errorf("verdicts of an empty batch: %+v, want none", v)
	}
}

// A batch is one group of the Door, in the order of its events.
func TestBatchIsOneGroup(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	var parts []string
	for i := range 300 {
		parts = append(parts, eventBody(fmt.Sprint("e-", i), requestOfRefund(fmt.Sprint("rf_", i))))
	}
	verdicts(t, c.do("POST", "/v1/events", "["+strings.Join(parts, ",")+"]", "Content-Type", typeBatch))
	if len(w.touched) != 1 || len(w.accepted) != 300 || w.accepted[299].Event.ID != "e-299" {
		t.Errorf("%d calls of the Door with %d events, want one call with 300", len(w.touched), len(w.accepted))
	}
}

func TestBusyEventsAreRetried(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	var sizes []int
	always := false
	w.accept = func(g []intake.Intake) ([]intake.Outcome, error) {
		sizes = append(sizes, len(g))
		out := make([]intake.Outcome, len(g))
		for i, in := range g {
			r := sampleRefund(in.Refund.RefundID)
			out[i] = intake.Outcome{Verdict: intake.Taken, Refund: &r}
			if in.Event.ID == "e-2" && (always || len(sizes) == 1) {
				out[i] = intake.Outcome{Verdict: intake.Busy}
			}
		}
		return out, nil
	}
	batch := "[" + eventBody("e-1", refundBody) + "," + eventBody("e-2", refundBody) + "," + eventBody("e-3", refundBody) + "]"
	if v := verdicts(t, c.do("POST", "/v1/events", batch, "Content-Type", typeBatch)); v[1].Outcome != "accepted" || fmt.Sprint(sizes) != "[3 1]" {
		t.Errorf("verdicts %+v, groups %v, want only the busy event retried", v, sizes)
	}
	always = true
	if r := c.do("POST", "/v1/events", batch, "Content-Type", typeBatch); r.status != 503 || r.header.Get("Retry-After") == "" {
		t.Errorf("status %d while an event stays busy, want 503: not everything is stored", r.status)
	}
}

func TestEventsAreNotAnswered200BeforeTheyAreStored(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.parkErr = refund.ErrUnavailable
	if r := c.do("POST", "/v1/events", `{"hello":"world"}`, "Content-Type", typeEvent); r.status != 503 {
		t.Errorf("status %d for an undecodable event that could not be parked, want 503", r.status)
	}
	w.accept = func([]intake.Intake) ([]intake.Outcome, error) { return nil, refund.ErrCommitUnknown }
	if r := c.do("POST", "/v1/events", eventBody("e-1", refundBody), "Content-Type", typeEvent); r.status != 503 {
		t.Errorf("status %d after a lost COMMIT, want 503", r.status)
	}
}

// Equal bytes have the same parking position, others have another.
func TestUndecodableEventsAreParkedByTheirBytes(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	for _, body := range []string{`{"hello":"world"}`, `{"hello":"world"}`, `{"hello":"moon"}`} {
		c.do("POST", "/v1/events", body, "Content-Type", typeEvent)
	}
	if w.poison[0].Position != w.poison[1].Position || w.poison[0].Position == w.poison[2].Position || string(w.poison[2].Body) != `{"hello":"moon"}` {
		t.Errorf("positions %q, want the first two equal and the third different", []string{w.poison[0].Position, w.poison[1].Position, w.poison[2].Position})
	}
}

// A sender that pushes events repeats a refused body for ever: what should be events and cannot be read is parked and answered 2xx.
func TestBodiesThatCannotBeReadAreParked(t *testing.T) {
	t.Parallel()
	ce := []string{"ce-specversion", "1.0", "ce-id", "e-1", "ce-source", "/shop", "ce-type", "refund.requested"}
	good := eventBody("e-1", refundBody)
	for name, c := range map[string]struct {
		body, pointer string
		header        []string
	}{
		"structured, empty":                      {"", "", []string{"Content-Type", typeEvent}},
		"structured, cut off":                    {good[:50], "", []string{"Content-Type", typeEvent}},
		"structured, two documents":              {good + good, "", []string{"Content-Type", typeEvent}},
		"structured, in a format not read":       {"\x01\x02", "", []string{"Content-Type", "application/cloudevents+avro"}},
		"batch of one event without a list":      {good, "", []string{"Content-Type", typeBatch}},
		"batch, cut off":                         {"[" + good, "", []string{"Content-Type", typeBatch}},
		"batch with broken syntax":               {"[" + good + `,{"id":]`, "", []string{"Content-Type", typeBatch}},
		"batch in invalid UTF-8":                 {"[\"\xff\"]", "", []string{"Content-Type", typeBatch}},
		"binary, no JSON":                        {"hello", "/data", append(ce, "Content-Type", "application/json")},
		"binary, not of a JSON type":             {refundBody, "/datacontenttype", append(ce, "Content-Type", "text/plain")},
		"binary without a type, no JSON":         {"hello", "/data", append(ce, "Content-Type", "")},
		"binary without specversion":             {refundBody, "/specversion", append(ce[2:len(ce):len(ce)], "Content-Type", "application/json")},
		"binary, in a charset that is not UTF-8": {`{"a":"` + "\xe9" + `"}`, "/data", append(ce, "Content-Type", "application/json; charset=latin1")},
	} {
		w, cl := serve(t, nil)
		v := verdicts(t, cl.do("POST", "/v1/events", c.body, c.header...))
		if len(v) != 1 || v[0].Outcome != "undecodable" || c.pointer != "" && v[0].Problem.Errors[0].Pointer != c.pointer {
			t.Errorf("%s: %+v", name, v)
		}
		if len(w.poison) != 1 || string(w.poison[0].Body) != c.body || len(w.accepted) != 0 {
			t.Errorf("%s: parked %d, accepted %d, want the body parked as it came", name, len(w.poison), len(w.accepted))
		}
	}
	w, cl := serve(t, nil)
	req := func(h http.Header) reply { // an attribute twice
		r, err := http.NewRequestWithContext(t.Context(), "POST", cl.base+"/v1/events", strings.NewReader(refundBody))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = h
		res, err := cl.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, _ := io.ReadAll(res.Body)
		return reply{res.StatusCode, res.Header, string(body)}
	}
	v := verdicts(t, req(http.Header{"Authorization": {"Bearer " + writerKey}, "Content-Type": {"application/json"}, "Accept": {"application/json"},
		"Ce-Specversion": {"1.0"}, "Ce-Id": {"a", "b"}, "Ce-Source": {"/shop"}, "Ce-Type": {"refund.requested"}}))
	if len(v) != 1 || v[0].Outcome != "undecodable" || len(w.poison) != 1 || len(w.poison[0].Headers["ce-id"]) != 2 {
		t.Errorf("an attribute twice: %+v, parked %+v", v, w.poison)
	}
}

// The bad events of a body are parked together: one transaction, however many they are.
func TestBadEventsOfABodyAreParkedTogether(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	batch := "[" + strings.Repeat("{},", 999) + "{}]"
	if v := verdicts(t, c.do("POST", "/v1/events", batch, "Content-Type", typeBatch)); len(v) != 1000 || fmt.Sprint(w.touched) != "[park]" || len(w.poison) != 1000 {
		t.Errorf("%d verdicts, %d parked by %v, want 1000 by one call", len(v), len(w.poison), w.touched)
	}
}

// Senders that take the body of an answer for an event in reply get none.
func TestWhoGetsVerdicts(t *testing.T) {
	t.Parallel()
	_, c := serve(t, nil)
	binary := []string{"Content-Type", "application/json", "ce-specversion", "1.0", "ce-id", "e-1", "ce-source", "/s", "ce-type", "refund.requested"}
	structured := []string{"Content-Type", typeEvent}
	batch := []string{"Content-Type", typeBatch}
	for _, x := range []struct {
		mode           []string
		accept, prefer string
		status         int
	}{
		{structured, "", "", 204}, {binary, "", "", 204}, {batch, "", "", 204},
		{structured, "*/*", "", 200}, {binary, "*/*", "", 204}, {batch, "*/*", "", 200},
		{structured, "application/*", "", 200}, {structured, "text/plain", "", 204}, {structured, "*/*, application/json;q=0", "", 204},
		{binary, "application/json", "", 200}, {binary, "text/html, Application/JSON;q=0.1", "", 200}, {binary, "application/json;q=0.0", "", 204},
		{structured, "application/json", "return=minimal", 204}, {batch, "*/*", "wait=1, return=minimal", 204},
		{binary, "", "return=representation", 200}, {structured, "", "handling=lenient", 204},
	} {
		body := eventBody("e-1", refundBody)
		switch {
		case len(x.mode) > 2:
			body = refundBody
		case x.mode[1] == typeBatch:
			body = "[" + body + "]"
		}
		header := append(slices.Clone(x.mode), "Accept", x.accept)
		if x.prefer != "" {
			header = append(header, "Prefer", x.prefer)
		}
		r := c.do("POST", "/v1/events", body, header...)
		want := ""
		if value, asked := strings.CutPrefix(x.prefer[strings.LastIndex(x.prefer, " ")+1:], "return="); asked {
			want = "return=" + value
		}
		if r.status != x.status || (r.body == "") != (x.status == 204) || r.header.Get("Preference-Applied") != want {
			t.Errorf("%.20s, Accept: %s, Prefer: %s: %d %q, want %d", x.mode[1], x.accept, x.prefer, r.status, r.header.Get("Preference-Applied"), x.status)
		}
	}
}
