package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/access"
	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

const deciderKey = "rfk_test_Decider1_" + "4123456789012345678901234567890123456789012"

func serveWithDecider(t *testing.T) (*fakeBackend, *client) {
	t.Helper()
	return serve(t, func(w *fakeBackend, _ *httpapi.Config) {
		prefix, rec := keyRecord(t, deciderKey, refund.Tenant{ID: 1, Code: "demo"}, access.ScopeCasesDecide, access.ScopeRefundsRead)
		w.keys[prefix] = rec
	})
}

func someMessage(id byte) intake.Message {
	return intake.Message{Consumer: "orders", Source: "/shop", EventID: "evt-1", FirstSeen: epoch, LastSeen: epoch.Add(time.Second), TimesSeen: 2,
		Outcome: "REPLAYED", Cause: "redelivery", RefundID: "rf_1", LastDelivery: refund.RID{15: id}, ReplayBatch: refund.RID{15: 9},
		Decision: &intake.MessageDecision{At: epoch, Type: intake.TypeRefundRequested, Outcome: intake.Taken, Transport: "nats:S/1"},
		Deliveries: []intake.MessageDelivery{{At: epoch, Transport: "nats:S/1#1", Outcome: "TAKEN"},
			{At: epoch.Add(time.Second), Transport: "nats:S/1#2", Outcome: "REPLAYED", Cause: "redelivery"}}}
}

func someParked(id byte, reason string) intake.ParkedView {
	p := intake.ParkedView{EventID: intake.EventID{Consumer: "orders"}, Reason: reason, Tries: 1, At: epoch, BodySize: 4}
	p.ParkedMessage = intake.ParkedMessage{ID: refund.RID{15: id}, Consumer: "orders", Park: intake.Park{Position: "S/1#aa", Body: []byte("junk")}}
	return p
}

func TestMessages(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.messages = []intake.Message{someMessage(3), someMessage(2),
		{Consumer: "orders", FirstSeen: epoch, LastSeen: epoch, TimesSeen: 1, Outcome: "PARKED", Cause: "undecodable", LastDelivery: refund.RID{15: 1}}}
	var page struct {
		Items      []map[string]any
		NextCursor *string
		HasMore    bool
	}
	r := c.do("GET", "/v1/messages?limit=2&consumer=orders&outcome=REPLAYED&refundId=rf_1", "")
	if err := json.Unmarshal([]byte(r.body), &page); err != nil || r.status != 200 || len(page.Items) != 2 || !page.HasMore || page.NextCursor == nil {
		t.Fatalf("%d %s %v", r.status, r.body, err)
	}
	if w.found.Consumer != "orders" || w.found.Outcome != "REPLAYED" || w.found.RefundID != "rf_1" || w.found.Limit != 3 {
		t.Errorf("filter %+v, want that of the query", w.found)
	}
	if r := c.do("GET", "/v1/messages?limit=2&consumer=orders&outcome=REPLAYED&refundId=rf_1&cursor="+*page.NextCursor, ""); r.status != 200 ||
		w.found.Before != (refund.RID{15: 2}) {
		t.Errorf("%d, before %v, want the page after the last message", r.status, w.found.Before)
	}
	if r := c.do("GET", "/v1/messages?cursor="+*page.NextCursor, ""); r.status != 400 {
		t.Errorf("status %d, want 400: a cursor is valid for its filters only", r.status)
	}
	r = c.do("GET", "/v1/messages/orders/evt%2F1%20a?source=/shop", "")
	if r.status != 200 || w.asked != "orders evt/1 a /shop" || !strings.Contains(r.body, `"transport":"nats:S/1#2"`) {
		t.Errorf("%d %q %s, want the event id decoded once and every delivery", r.status, w.asked, r.body)
	}
	if r := c.do("GET", "/v1/messages/orders/evt-1", "", "Authorization", "Bearer "+otherTenantKey); r.status != 404 {
		t.Errorf("status %d, want 404 for a message of another tenant", r.status)
	}
	for _, odd := range []string{"/v1/messages/orders/%00", "/v1/messages/orders/%FF", "/v1/messages/orders/evt-1?source=%00",
		"/v1/messages/orders/evt-1?source=%FF"} {
		if r := c.do("GET", odd, ""); r.status != 404 {
			t.Errorf("%s: %d, want 404: no message can have such a name", odd, r.status)
		}
	}
	if r := c.do("GET", "/v1/messages/Orders!/evt-1", ""); r.status != 400 {
		t.Errorf("status %d, want 400: no consumer can have such a name", r.status)
	}
}

func TestParkedListAndBytes(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.parked = []intake.ParkedView{someParked(1, "undecodable"), someParked(2, "idempotency-key-reused")}
	var page struct {
		Items      []struct{ Redrivable bool }
		NextCursor string
	}
	r := c.do("GET", "/v1/parked", "")
	if err := json.Unmarshal([]byte(r.body), &page); err != nil || len(page.Items) != 2 || !page.Items[0].Redrivable || page.Items[1].Redrivable {
		t.Fatalf("%s %v, want both messages and only the first one redrivable", r.body, err)
	}
	if r := c.do("GET", "/v1/parked?limit=1&state=done&reason=undecodable", ""); r.status != 200 || !w.sought.Done || w.sought.Reason != "undecodable" {
		t.Errorf("%d, filter %+v, want that of the query", r.status, w.sought)
	} else if err := json.Unmarshal([]byte(r.body), &page); err != nil || page.NextCursor == "" {
		t.Errorf("%s %v, want a cursor", r.body, err)
	}
	if c.do("GET", "/v1/parked?limit=1&state=done&reason=undecodable&cursor="+page.NextCursor, ""); w.sought.After != (refund.RID{15: 1}) {
		t.Errorf("after %v, want the last message of the previous page", w.sought.After)
	}
	id := refund.RID{15: 1}.String()
	if r := c.do("GET", "/v1/parked/"+id, ""); r.status != 200 || !strings.Contains(r.body, base64.StdEncoding.EncodeToString([]byte("junk"))) {
		t.Errorf("%d %s, want the bytes in base64", r.status, r.body)
	}
	if r := c.do("GET", "/v1/parked/"+id, "", "Authorization", "Bearer "+otherTenantKey); r.status != 404 {
		t.Errorf("status %d, want 404 for a message of another tenant", r.status)
	}
}

func TestRedriveAndDiscard(t *testing.T) {
	t.Parallel()
	w, c := serveWithDecider(t)
	w.parked = []intake.ParkedView{someParked(1, "amount-exceeds-refundable")}
	path := "/v1/parked/" + refund.RID{15: 1}.String()
	decider := []string{"Authorization", "Bearer " + deciderKey}
	var who string
	answer := func(r intake.Redriven, err error) {
		w.redrive = func(_ refund.RID, actor string) (intake.Redriven, error) {
			who, r.Parked = actor, w.parked[0]
			return r, err
		}
	}
	ref := sampleRefund("rf_1")
	for name, x := range map[string]struct {
		result intake.Redriven
		err    error
		status int
		want   string
	}{
		"accepted": {intake.Redriven{Tried: true, Batch: refund.RID{15: 7}, Outcome: intake.Outcome{Verdict: intake.Taken, Refund: &ref}}, nil, 200,
			`"outcome":"accepted","refundId":"rf_1","replayBatchId":"00000000-0000-0000-0000-000000000007"`},
		"refused again": {intake.Redriven{Tried: true, Outcome: intake.Outcome{Verdict: intake.Refused, Code: refund.CodeAmountExceeds}}, nil, 200,
			`"code":"amount-exceeds-refundable"`},
		"unreadable":     {intake.Redriven{Tried: true, Fault: errors.New("x")}, nil, 200, `"outcome":"undecodable"`},
		"closed before":  {intake.Redriven{}, nil, 200, `"tried":false,"outcome":null`},
		"a conflict":     {intake.Redriven{}, &refund.Problem{Code: refund.CodeNotRedrivable}, 409, `"code":"not-redrivable"`},
		"busy":           {intake.Redriven{}, refund.ErrBusy, 409, `"code":"operation-in-progress"`},
		"unavailable":    {intake.Redriven{}, refund.ErrUnavailable, 503, `"code":"unavailable"`},
		"queue is full":  {intake.Redriven{}, refund.ErrOverloaded, 503, `"code":"overloaded"`},
		"not found":      {intake.Redriven{}, refund.ErrNotFound, 404, `"code":"not-found"`},
		"internal error": {intake.Redriven{}, errors.New("boom"), 500, `"code":"internal"`},
	} {
		answer(x.result, x.err)
		if r := c.do("POST", path+"/redrive", "", decider...); r.status != x.status || !strings.Contains(r.body, x.want) {
			t.Errorf("%s: %d %s, want %d and %s", name, r.status, r.body, x.status, x.want)
		}
	}
	if who != "actor:shop" {
		t.Errorf("actor %q, want that of the key", who)
	}
	if r := c.do("POST", path+"/discard", "", decider...); r.status != 200 || !strings.Contains(r.body, `"how":"discarded","by":"actor:shop"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, verb := range []string{"/redrive", "/discard"} {
		if r := c.do("POST", path+verb, ""); r.status != http.StatusForbidden {
			t.Errorf("%s: %d, want 403 without cases:decide", verb, r.status)
		}
		if r := c.do("POST", path+verb, "{}", decider...); r.status != 400 {
			t.Errorf("%s: %d, want 400: it has no body", verb, r.status)
		}
		if r := c.do("POST", "/v1/parked/not-a-uuid"+verb, "", decider...); r.status != 400 {
			t.Errorf("%s: %d, want 400 for an invalid id", verb, r.status)
		}
	}
}
