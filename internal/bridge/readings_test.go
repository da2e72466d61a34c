package bridge_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/refundtest/bodies"
)

// longName is the place of an unknown member whose name is longer than 64 bytes: 64 bytes of it and an ellipsis.
var longName = regexp.MustCompile(`(/data(?:/payment)?/)(?:[a-z]{64}|(?:\\u00e9){32})\\u2026\t`)

// intended are the differences of events from what was recorded.
var intended = []bodies.Intended{{
	Why:  "A long name of an unknown member was left out of the place altogether. REST repeated its first 64 bytes; now one reader does so for both.",
	Line: func(line string) string { return longName.ReplaceAllString(line, "${1}\\u2026\t") },
}}

// Codec decodes every event of the corpus as recorded.
func TestRequestsAreReadAsRecorded(t *testing.T) {
	t.Parallel()
	bodies.Check(t, bodies.Events, intended, func(r bodies.Request) bodies.Reading {
		in, tenantCode, err := bridge.Codec{}.Decode(r.Attributes, []byte(r.Body))
		got := bodies.Reading{Verdict: "taken"}
		got.Params.Text("source", in.Event.Source)
		got.Params.Text("id", in.Event.ID)
		got.Params.Text("type", string(in.Type))
		got.Params.Text("tenant", tenantCode)
		if err != nil {
			got.Verdict = "undecodable"
			at, ok := err.(interface{ Pointer() string })
			if !ok {
				t.Fatalf("request %d: error %v has no pointer", r.Index, err)
			}
			got.Places = []string{at.Pointer()}
			return got
		}
		if !in.OccurredAt.IsZero() {
			got.Params.Text("time", in.OccurredAt.UTC().Format(time.RFC3339Nano))
		}
		if !in.ReplayBatch.IsZero() {
			got.Params.Text("replayBatch", in.ReplayBatch.String())
		}
		got.Digest = in.Digest().String()
		if in.Refund != nil {
			paramsOfRefund(&got.Params, in.Refund)
		}
		if in.Capture != nil {
			paramsOfCapture(&got.Params, in.Capture)
		}
		return got
	})
}

func paramsOfRefund(p *bodies.Params, r *intake.Request) {
	p.Text("refundId", r.RefundID)
	p.Text("orderId", r.OrderID)
	p.Text("paymentId", r.PaymentID)
	p.Number("amount", r.Amount)
	p.Text("currency", string(r.Currency))
	p.Text("reason", r.Reason)
	p.Texts("metadata", r.Metadata)
	if s := r.Payment; s != nil {
		p.Text("payment.orderId", s.OrderID)
		p.Number("payment.amount", s.Amount)
		p.Text("payment.currency", string(s.Currency))
		p.Text("payment.channelAccount", s.Account)
		p.Text("payment.channelReference", s.Reference)
		p.Number("payment.version", s.Version)
		p.Number("payment.refundedElsewhere", s.RefundedElsewhere)
	}
}

func paramsOfCapture(p *bodies.Params, c *intake.Capture) {
	p.Text("paymentId", c.PaymentID)
	p.Text("captureId", c.CaptureID)
	p.Text("orderId", c.OrderID)
	p.Number("amount", c.Amount)
	p.Text("currency", string(c.Currency))
	p.Text("channelAccount", c.Account)
	p.Text("channelReference", c.Reference)
}
