package bridge_test

import (
	"testing"
	"time"

	ce "github.com/cloudevents/sdk-go/v2/event"

	"github.com/refundry/refundry/internal/refund"
	out "github.com/refundry/refundry/internal/refund/event"
)

// The CloudEvents SDK, which receivers use, accepts every type of our events and reads the same values.
func TestCloudEventsReadersTakeOurEvents(t *testing.T) {
	t.Parallel()
	seen := map[out.Type]bool{}
	for _, state := range refund.States() {
		for _, before := range [][]string{nil, {"deadline"}} {
			r := out.Row{Installation: "018f6f4e-7c00-7000-8000-000000000001", Tenant: "demo", Seq: 2, Kind: "x", From: "PROCESSING", To: state, Source: "query",
				At: time.Date(2026, 3, 1, 0, 0, 0, 5000, time.UTC), Data: `{"rule":"x"}`, CaseBefore: before,
				Params: refund.Params{RefundID: "rf_1", PaymentID: "p", OrderID: "o", Amount: 1, Currency: "USD"}}
			if before == nil {
				r.Data = `{"case":["excess"],"rule":"x"}`
			}
			if state == "PENDING" {
				r.Seq, r.From = 1, ""
			}
			events, err := out.Of(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				seen[e.Type] = true
				var read ce.Event
				if err := read.UnmarshalJSON(e.Body); err != nil || read.Validate() != nil {
					t.Fatalf("%s: %v %v", e.Type, err, read.Validate())
				}
				if read.ID() != e.ID || read.Type() != string(e.Type) || read.Subject() != "rf_1" || read.Extensions()["tenantid"] != "demo" || !read.Time().Equal(e.At) {
					t.Errorf("%s reads as %s", e.Body, read)
				}
			}
		}
	}
	if len(seen) != len(out.Types()) {
		t.Errorf("%d of %d event types were produced, want all", len(seen), len(out.Types()))
	}
}
