package bridge_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/bridge"
)

// The time of paying may be up to ten minutes ahead of our clock and not before the year 2000.
func TestPaidAtBounds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	codec := bridge.Codec{Clock: func() time.Time { return now }}
	for text, good := range map[string]bool{
		"2026-03-01T12:10:00Z": true, "2026-03-01T12:10:00.000001Z": false,
		"2000-01-01T00:00:00Z": true, "2000-01-01T00:00:00+00:01": false, "today": false, "": false,
	} {
		data := strings.Replace(captureData, `"amount"`, `"paidAt":"`+text+`","amount"`, 1)
		in, _, err := codec.Decode(nil, []byte(envelope("payment.captured", data)))
		if (err == nil) != good {
			t.Errorf("%q: error %v, want accepted = %v", text, err, good)
		}
		var bad *bridge.Undecodable
		switch {
		case good && in.Capture.PaidAt.Format(time.RFC3339) != text:
			t.Errorf("%q reads as %s", text, in.Capture.PaidAt)
		case !good && (!errors.As(err, &bad) || bad.Pointer() != "/data/paidAt"):
			t.Errorf("%q: %v", text, err)
		}
	}
}
