package httpapi_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/refundry/refundry/internal/refund/wire"
	"github.com/refundry/refundry/internal/refundtest/bodies"
)

// Package wire takes what the schemas of the contract allow and refuses what they do not. What is no strict JSON has no schema.
func TestWireAndTheContractAgree(t *testing.T) {
	t.Parallel()
	spec, _ := contract(t)
	step := 7
	if os.Getenv("CONFORMANCE") == "full" {
		step = 1
	}
	now := time.Now()
	taken, refused := 0, 0
	for i := 0; i < bodies.Size; i += step {
		schema, doc, read := documentOf(bodies.At(i))
		if schema == "" {
			continue
		}
		faults, malformed := wireFaults(t, read([]byte(doc), now), lateFaults(doc))
		if malformed {
			continue
		}
		allowed := allows(t, spec.Components.Schemas[schema].Value, doc)
		if allowed != (len(faults) == 0) {
			t.Errorf("body %d: the schema %s allows it: %t; wire finds %q in\n%s", i, schema, allowed, faults, doc)
		}
		if allowed {
			taken++
		} else {
			refused++
		}
	}
	if taken < 1000 || refused < 1000 {
		t.Errorf("%d bodies are allowed and %d are not, want 1000 of each: too few to compare", taken, refused)
	}
}

// documentOf is the body or the data of a request with the name of its schema, "" for an event that is one document.
func documentOf(r bodies.Request) (schema, doc string, read func([]byte, time.Time) error) {
	switch {
	case r.Method == "POST", r.Attributes["type"] == "refund.requested":
		return "RefundRequest", r.Body, func(doc []byte, now time.Time) error {
			_, err := wire.Request(doc, now)
			return err
		}
	case r.Method == "PUT":
		return "PaymentSnapshot", r.Body, func(doc []byte, now time.Time) error {
			_, err := wire.Payment(doc, now)
			return err
		}
	case r.Attributes["type"] == "payment.captured":
		return "CapturedPayment", r.Body, func(doc []byte, now time.Time) error {
			_, err := wire.Capture(doc, now)
			return err
		}
	}
	return "", "", nil
}

// wireFaults are the faults that wire found, without those that only the descriptions of the contract state: currencies that do
// not exist and the length of names in metadata.
func wireFaults(t *testing.T, err error, beyondSchema []string) (faults []string, malformed bool) {
	t.Helper()
	var refused *wire.Error
	if err != nil && !errors.As(err, &refused) {
		t.Fatalf("wire returned %T, want *wire.Error", err)
	}
	if err == nil || refused.Malformed {
		return nil, err != nil
	}
	for _, f := range refused.Faults {
		if !slices.Contains(beyondSchema, f.Pointer) {
			faults = append(faults, f.Pointer+" "+f.Detail)
		}
	}
	return faults, false
}

// allows reports whether a schema allows a document, which must be JSON.
func allows(t *testing.T, schema *openapi3.Schema, doc string) bool {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(doc))
	decoder.UseNumber() // some numbers are too large for a float64
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%q is no JSON: %v", doc, err)
	}
	return schema.VisitJSON(value, openapi3.EnableFormatValidation()) == nil
}

// Times of paying are in no generated body.
func TestWireAndTheContractAgreeOnTimes(t *testing.T) {
	t.Parallel()
	spec, _ := contract(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{"2026-03-01T10:00:00Z", "2026-03-01T10:00:00.123456789+05:30", "2026-03-01", "yesterday", "2026-03-01 10:00:00Z",
		"2026-03-01T1:00:00Z", "2026-03-01T10:00:00,5Z", "2026-13-01T10:00:00Z", "2026-03-01T10:00Z", "", strings.Repeat("2", 1000)} {
		doc := `{"orderId":"o","amount":1,"currency":"USD","channelAccount":"demo","paidAt":"` + text + `"}`
		_, err := wire.Payment([]byte(doc), now)
		if allowed := allows(t, spec.Components.Schemas["PaymentSnapshot"].Value, doc); allowed != (err == nil) {
			t.Errorf("paid at %q: the schema allows it: %t; wire says %v", text, allowed, err)
		}
	}
}
