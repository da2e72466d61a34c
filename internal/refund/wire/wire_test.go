package wire_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/refund/wire"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// faults returns what is wrong with a document, each as "pointer detail", and whether it is malformed.
func faults(t testing.TB, err error) (list []string, malformed bool) {
	t.Helper()
	if err == nil {
		return nil, false
	}
	var refused *wire.Error
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, want a *wire.Error", err)
	}
	for _, f := range refused.Faults {
		list = append(list, f.Pointer+" "+f.Detail)
	}
	return list, refused.Malformed
}

func TestRequestIsReadWithItsPayment(t *testing.T) {
	t.Parallel()
	got, err := wire.Request([]byte(`{"payment":{"paidAt":"2026-02-28T23:59:59.1234567+01:00","orderId":"o","amount":9007199254740991,"currency":"KWD",
		"channelAccount":"demo","channelReference":"ch/1","version":3,"refundedElsewhere":7},
		"metadata":{"a/b":"","é":"x"},"reason":"caf\u00e9","currency":"JPY","amount":1,"paymentId":"p","orderId":"o","refundId":"rf"}`), now)
	if err != nil {
		t.Fatal(err)
	}
	paidAt := time.Date(2026, 2, 28, 22, 59, 59, 123456000, time.UTC)
	want := intake.PaymentSpec{OrderID: "o", Amount: 9007199254740991, Currency: "KWD", Account: "demo", Reference: "ch/1", Version: 3, VersionGiven: true, RefundedElsewhere: 7, ElsewhereGiven: true,
		PaidAt: paidAt}
	if *got.Payment != want {
		t.Errorf("payment = %+v, want %+v", *got.Payment, want)
	}
	if got.RefundID != "rf" || got.OrderID != "o" || got.PaymentID != "p" || got.Amount != 1 || got.Currency != "JPY" || got.Reason != "café" {
		t.Errorf("request = %+v", got)
	}
	if len(got.Metadata) != 2 || got.Metadata["é"] != "x" {
		t.Errorf("metadata = %v", got.Metadata)
	}
}

func TestFaultsAreReportedInTheOrderOfTheContract(t *testing.T) {
	t.Parallel()
	doc := `{"zz":1,"payment":{"extra":{"deep":[1]},"amount":"1","version":-1,"paidAt":"yesterday","channelAccount":"demo","currency":"ABC"},"aa":2,
		"metadata":{"long":7,"":"x","b":null},"reason":"","currency":"usd","amount":9007199254740992,"refundId":null,"orderId":{"a":1}}`
	got, _ := faults(t, second(wire.Request([]byte(doc), now)))
	want := []string{
		"/refundId must not be null",
		"/orderId must be of type string",
		"/paymentId is required",
		"/amount must be from 1 to 9007199254740991",
		"/currency must be an ISO 4217 currency",
		"/reason must have 1 to 500 characters",
		"/metadata must have names of 1 to 64 characters",
		"/metadata/long must be of type string",
		"/metadata/b must not be null",
		"/payment/orderId is required",
		"/payment/amount must be of type integer",
		"/payment/currency must be an ISO 4217 currency",
		"/payment/version must be from 0 to 9007199254740991",
		"/payment/paidAt must be a time of RFC 3339",
		"/payment/extra is not a known member",
		"/aa is not a known member",
		"/zz is not a known member",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A document that is not strict JSON has one fault, whatever else is wrong before it.
func TestMalformedDocumentHasOneFault(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		``:                                    " is empty",
		`{"amount":true,"x":1} {}`:            " is followed by more data",
		`{"x":1,"amount":1.5}`:                "/amount must be an integer without fraction or exponent",
		`{"metadata":{"a":"1","\u0061":"2"}}`: "/metadata/a is there twice",
		`{"payment":{"amount":-0}}`:           "/payment/amount must not be minus zero",
		`{"unknown":[{"a":"\ud800"}]}`:        "/unknown/0/a holds half of a surrogate pair",
		`[` + strings.Repeat("[", 20):         strings.Repeat("/0", 20) + " is nested too deeply",
	} {
		got, malformed := faults(t, second(wire.Request([]byte(doc), now)))
		if !malformed || !slices.Equal(got, []string{want}) {
			t.Errorf("%q: malformed %t, faults %q, want %q", doc, malformed, got, want)
		}
	}
}

func TestTimesOfPaying(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-03-01T12:10:00.0000009Z": "", // stored in microseconds, so within the ten minutes
		"2026-03-01T12:10:00.000001Z":  "/paidAt must not be before 2000 or in the future",
		"2000-01-01T00:00:00Z":         "",
		"1999-12-31T23:59:59.999999Z":  "/paidAt must not be before 2000 or in the future",
		"2026-03-01T10:00:00,5Z":       "/paidAt must be a time of RFC 3339",
		"2026-03-01T1:00:00Z":          "/paidAt must be a time of RFC 3339",
		"2026-03-01T10:00:00":          "/paidAt must be a time of RFC 3339",
		"2026-03-01T10:00:00+24:00":    "/paidAt must be a time of RFC 3339",
		"2026-03-01T10:00:00-00:60":    "/paidAt must be a time of RFC 3339",
		"2026-03-01T23:59:59-00:00":    "/paidAt must not be before 2000 or in the future",
		"2026-02-28T23:59:59+23:59":    "",
		"2026-03-01t10:00:00z":         "",
		"2016-12-31T23:59:60Z":         "", // a leap second
		"2017-01-01T01:59:60.5+02:00":  "",
		"2026-02-28T23:59:60Z":         "", // a month may end with one
		"2026-02-27T23:59:60Z":         "/paidAt must be a time of RFC 3339",
		"2016-12-31T22:59:60Z":         "/paidAt must be a time of RFC 3339",
		"2016-12-31T23:59:61Z":         "/paidAt must be a time of RFC 3339",
		"2026-02-29T10:00:00Z":         "/paidAt must be a time of RFC 3339",
		"":                             "/paidAt must be a time of RFC 3339",
	} {
		doc := `{"orderId":"o","amount":1,"currency":"USD","channelAccount":"a","paidAt":"` + text + `"}`
		_, err := wire.Payment([]byte(doc), now)
		if got, _ := faults(t, err); strings.Join(got, " ") != want {
			t.Errorf("paid at %q: %q, want %q", text, got, want)
		}
	}
}

// However bad a document is, what is kept of it is bounded.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	var members, texts, nested strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&members, `,"x%04d":[]`, 4999-i)
		fmt.Fprintf(&texts, `,"m%d":1`, i)
		fmt.Fprintf(&nested, `,"n%d":{"amount":0}`, i)
	}
	for name, doc := range map[string]string{
		"unknown members": `{` + members.String()[1:] + `}`,
		"metadata":        `{"metadata":{` + texts.String()[1:] + `}}`,
		"payment":         `{"payment":{` + nested.String()[1:] + `},"refundId":1}`,
		"names":           `{"metadata":{"` + strings.Repeat("/", 5000) + `":1}}`,
		"array":           `[` + strings.Repeat("[],", 20000) + `1]`,
	} {
		list, malformed := faults(t, second(wire.Request([]byte(doc), now)))
		if malformed || len(list) == 0 || len(list) > wire.MaxFaults {
			t.Errorf("%s: %d faults, malformed %t, want 1 to %d faults", name, len(list), malformed, wire.MaxFaults)
		}
		for _, f := range list {
			if len(f) > 300 {
				t.Errorf("%s: a fault of %d bytes, want 300 at most", name, len(f))
			}
		}
		if name == "unknown members" && !slices.Contains(list, "/x0000 is not a known member") {
			t.Errorf("the faults do not name the first unknown member: %q", list)
		}
	}
}

func second(_ *intake.Request, err error) error { return err }

// BenchmarkRequest reads a usual body and bodies that are bad all over; the worst must stay near the cost of their bytes.
func BenchmarkRequest(b *testing.B) {
	var bad strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&bad, `,"x%d":{"a":0}`, i)
	}
	for name, doc := range map[string]string{
		"good": `{"refundId":"rf_1001","orderId":"ord_77","paymentId":"pay_77","amount":1250,"currency":"USD",` +
			`"reason":"damaged","metadata":{"ticket":"T-9"}}`,
		"unknown-members": `{` + bad.String()[1:] + `}`,
		"array":           `[` + strings.Repeat("[],", 21000) + `1]`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = wire.Request([]byte(doc), now)
			}
		})
	}
}

// FuzzRequest holds the promises of a reading: either a request with an identity, or at least one fault and no request.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"refundId":"rf","orderId":"o","paymentId":"p","amount":1250,"currency":"USD","metadata":{"a":"b"},"payment":{"orderId":"o"}}`))
	f.Add([]byte(`{"refundId":"rf","orderId":"o","paymentId":"p","amount":1,"currency":"USD","payment":{"orderId":"o","amount":1,"currency":"JPY",` +
		`"channelAccount":"a","paidAt":"2026-01-01T00:00:00Z","channelReference":"~"}}`))
	f.Add([]byte(`{"amount":1e3}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := wire.Request(doc, now)
		list, malformed := faults(t, err)
		if (got == nil) == (err == nil) || err != nil && (len(list) == 0 || len(list) > wire.MaxFaults) || malformed && len(list) != 1 {
			t.Errorf("request %v with faults %q, malformed %t", got, list, malformed)
		}
		if got == nil {
			return
		}
		plain := intake.Request{Params: got.Params, Payment: got.Payment}
		a, b := intake.Intake{Refund: got}, intake.Intake{Refund: &plain}
		if a.Digest() != b.Digest() || a.CanonicalParams() != b.CanonicalParams() {
			t.Error("the identity is not that of the parameters")
		}
	})
}
