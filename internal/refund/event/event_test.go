package event_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/event"
)

// golden is testdata/golden.json. Its values were computed outside of Go (json, hashlib and base64 of Python's standard
// library). Receivers store the ids and compare the bytes: if a value changes after a release, they take one event for two.
type golden struct {
	Installation, Tenant, RefundID, PaymentID, OrderID string
	Amount                                             int64
	Currency                                           refund.Currency
	Rows                                               []struct {
		Row struct {
			Name, Kind, From, To, Source, Hash, Data, Batch string
			Seq                                             int
			At                                              time.Time
			CaseBefore                                      []string
		}
		Events []struct{ ID, Type, WebhookID, Body, SHA256 string }
	}
}

func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(raw, &g); err != nil || len(g.Rows) == 0 {
		t.Fatal("no golden rows", err)
	}
	for _, v := range g.Rows {
		hash, err := hex.DecodeString(v.Row.Hash)
		if err != nil {
			t.Fatal(err)
		}
		r := event.Row{Installation: g.Installation, Tenant: g.Tenant, Seq: v.Row.Seq, Kind: v.Row.Kind, From: refund.State(v.Row.From), To: refund.State(v.Row.To),
			Source: v.Row.Source, At: v.Row.At, Data: v.Row.Data, Hash: [32]byte(hash), CaseBefore: v.Row.CaseBefore,
			Params: refund.Params{RefundID: g.RefundID, PaymentID: g.PaymentID, OrderID: g.OrderID, Amount: g.Amount, Currency: g.Currency}}
		if v.Row.Batch != "" {
			if r.ReplayBatch, err = refund.ParseRID(v.Row.Batch); err != nil {
				t.Fatal(err)
			}
		}
		got := of(t, r)
		if len(got) != len(v.Events) {
			t.Fatalf("%s: %d events, the fixed number is %d", v.Row.Name, len(got), len(v.Events))
		}
		for i, want := range v.Events {
			sum := sha256.Sum256(got[i].Body)
			is := []string{got[i].ID, string(got[i].Type), event.WebhookID(got[i].ID), string(got[i].Body), hex.EncodeToString(sum[:])}
			if fixed := []string{want.ID, want.Type, want.WebhookID, want.Body, want.SHA256}; !slices.Equal(is, fixed) {
				t.Errorf("%s:\n got %q\nfixed %q", v.Row.Name, is, fixed)
			}
		}
	}
}

// plain is a valid row that the tests change.
func plain() event.Row {
	return event.Row{Installation: "018f6f4e-7c00-7000-8000-000000000001", Tenant: "demo", Seq: 2, Kind: "x", From: "UNKNOWN", To: "UNKNOWN", Source: "query",
		At: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Data: `{"rule":"x"}`,
		Params: refund.Params{RefundID: "rf_1", PaymentID: "p", OrderID: "o", Amount: 1, Currency: "USD"}}
}

func of(t *testing.T, r event.Row) []event.Event {
	t.Helper()
	out, err := event.Of(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func typesOf(t *testing.T, r event.Row) (out []event.Type) {
	t.Helper()
	for _, e := range of(t, r) {
		out = append(out, e.Type)
	}
	return out
}

// Every transition of the state table has its event, or is listed as one without. A new transition fails here until it is
// listed.
func TestEveryLegalTransition(t *testing.T) {
	t.Parallel()
	want := map[string]event.Type{
		"PENDING>PROCESSING": "", "PENDING>UNKNOWN": event.Unknown, "PENDING>SUCCESS": event.Succeeded, "PENDING>FAILED": event.Failed, "PENDING>CANCELED": event.Canceled,
		"PROCESSING>PENDING": "", "PROCESSING>ACCEPTED": event.Acknowledged, "PROCESSING>UNKNOWN": event.Unknown,
		"PROCESSING>SUCCESS": event.Succeeded, "PROCESSING>FAILED": event.Failed,
		"ACCEPTED>UNKNOWN": event.Unknown, "ACCEPTED>SUCCESS": event.Succeeded, "ACCEPTED>FAILED": event.Failed,
		"UNKNOWN>PENDING": "", "UNKNOWN>ACCEPTED": event.Acknowledged, "UNKNOWN>SUCCESS": event.Succeeded, "UNKNOWN>FAILED": event.Failed,
		"SUCCESS>REVERSED": event.Reversed, "FAILED>SUCCESS": event.Succeeded, "CANCELED>SUCCESS": event.Succeeded, "REVERSED>SUCCESS": event.Succeeded,
	}
	legal := refund.Transitions()
	for _, step := range legal {
		from, to, _ := strings.Cut(step, ">")
		r := plain()
		r.From, r.To = refund.State(from), refund.State(to)
		told, listed := want[step]
		if !listed {
			t.Errorf("%s: the list does not say whether it has an event", step)
			continue
		}
		var state []event.Type
		if told != "" {
			state = []event.Type{told}
		}
		for _, c := range []struct {
			before []string
			data   string
			more   []event.Type
		}{
			{nil, `{"rule":"x"}`, nil},
			{nil, `{"case":["deadline"],"rule":"x"}`, []event.Type{event.CaseOpened}},
			{[]string{"deadline"}, `{"rule":"x"}`, []event.Type{event.CaseClosed}},
			{[]string{"deadline"}, `{"case":["excess"],"rule":"x"}`, nil},
			{[]string{"deadline"}, `{"call":"SEND"}`, nil},
		} {
			r.CaseBefore, r.Data = c.before, c.data
			if got := typesOf(t, r); !slices.Equal(got, append(slices.Clone(state), c.more...)) {
				t.Errorf("%s, case %v, data %s: %v", step, c.before, c.data, got)
			}
		}
	}
	if len(want) != len(legal) {
		t.Errorf("%d transitions are listed here, the state table makes %d", len(want), len(legal))
	}
}

func TestRowsWithoutAChangeOfState(t *testing.T) {
	t.Parallel()
	for _, s := range refund.States() {
		r := plain()
		r.From, r.To = s, s
		if got := typesOf(t, r); len(got) > 0 {
			t.Errorf("a fact without a change in %s gave %v", s, got)
		}
		r.Seq, r.From, r.Data = 1, "", `{"tenant":"demo"}`
		if got := typesOf(t, r); !slices.Equal(got, []event.Type{event.Created}) {
			t.Errorf("the first row in %s gave %v, want refund.created alone", s, got)
		}
	}
	for _, bend := range []func(*event.Row){
		func(r *event.Row) { r.To = "NEW" }, func(r *event.Row) { r.Data = "{" }, func(r *event.Row) { r.Data = `{"case":1,"rule":"x"}` },
	} {
		r := plain()
		bend(&r)
		if _, err := event.Of(r); !errors.Is(err, event.ErrRow) {
			t.Errorf("an unreadable row gave %v", err)
		}
	}
}

// The longest values of the tables fit into an event, and every encoding of a row gives the same bytes.
func TestLongestEvent(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("x", 64)
	said := strings.Repeat("\x01", 200)
	reasons := []string{"success-after-end", "multiple-effects", "other-number-open", "excess", "contradiction", "unmatched-line", "deadline",
		"no-automatic-step", "acknowledged-after-end"}
	data, err := refund.CanonicalJSON(map[string]any{"rule": "x", "case": reasons, "code": said + said, "channelRefundId": said + said})
	if err != nil {
		t.Fatal(err)
	}
	r := plain()
	r.Tenant, r.Seq, r.Kind, r.Source = strings.Repeat("t", 63), 1<<31-1, strings.Repeat("k", 64), strings.Repeat("s", 63)
	r.From, r.To, r.Data, r.ReplayBatch = "PROCESSING", "ACCEPTED", data, refund.RID{1}
	r.Params = refund.Params{RefundID: id, PaymentID: id, OrderID: id, Amount: refund.MaxAmount, Currency: "USD"}
	got := of(t, r)
	if len(got) != 2 {
		t.Fatalf("%d events, want the state's and the case's", len(got))
	}
	for _, e := range got {
		t.Logf("%s: %d bytes", e.Type, len(e.Body))
		if len(e.Body) > event.MaxBytes || len(e.ID) > 255 {
			t.Errorf("%s has %d bytes, its id %d", e.Type, len(e.Body), len(e.ID))
		}
	}
	for range 50 {
		if again := of(t, r); !reflect.DeepEqual(again, got) {
			t.Fatal("the same row gave other bytes")
		}
	}
	r.Kind = strings.Repeat("k", event.MaxBytes)
	if _, err := event.Of(r); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("an event over the bound gave %v", err)
	}
}

func TestWebhookID(t *testing.T) {
	t.Parallel()
	a := event.WebhookID("demo/rf.1/1-000000000000")
	if len(a) != 35 || strings.ContainsAny(a, "./=") || a == event.WebhookID("demo/rf.1/1-000000000000/c") {
		t.Errorf("%q", a)
	}
}
