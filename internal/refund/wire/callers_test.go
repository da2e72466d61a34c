package wire_test

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund/wire"
)

// A leap second is the first moment of the next minute, whatever its fraction is.
func TestLeapSecondsAreTheNextMinute(t *testing.T) {
	t.Parallel()
	want := time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"2016-12-31T23:59:60Z", "2016-12-31t23:59:60.999z", "2016-12-31T15:59:60-08:00"} {
		if got, ok := wire.Time(text); !ok || !got.Equal(want) {
			t.Errorf("%s = %v %t, want %v", text, got, ok, want)
		}
	}
}

// The type is what stands before the parameters; a charset may be quoted, empty or in capitals, and other parameters change nothing.
func TestMediaTypesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		media, charset string
		ok, json, utf8 bool
	}{
		"application/json":                       {"application/json", "", true, true, true},
		"Application/JSON ; Charset=\"UTF-8\"":   {"application/json", "utf-8", true, true, true},
		"application/json;charset=utf8":          {"application/json", "utf8", true, true, true},
		"application/json; charset=":             {"application/json", "", true, true, true},
		"application/json; charset=latin1":       {"application/json", "latin1", true, true, false},
		"application/json; =x; charset=us-ascii": {"application/json", "us-ascii", true, true, true},
		"application/vnd.shop+json; v=1":         {"application/vnd.shop+json", "", true, true, true},
		"text/JSON":                              {"text/json", "", true, true, true},
		"text/plain":                             {"text/plain", "", true, false, true},
		"application/jsonp":                      {"application/jsonp", "", true, false, true},
		"json;;":                                 {"", "", false, false, true},
		"":                                       {"", "", false, false, true},
	} {
		media, charset, ok := wire.MediaType(text)
		if media != want.media || charset != want.charset || ok != want.ok || wire.IsJSON(media) != want.json || wire.IsUTF8(charset) != want.utf8 {
			t.Errorf("%q = %q %q %t, JSON %t, UTF-8 %t", text, media, charset, ok, wire.IsJSON(media), wire.IsUTF8(charset))
		}
	}
}

// No path can name . or .., whichever way such an id comes in. They stay allowed where an id is no segment of a path.
func TestDotSegmentsAreNoIdsOfRefundsAndPayments(t *testing.T) {
	t.Parallel()
	request := func(refund, order, payment string) []byte {
		return []byte(`{"refundId":"` + refund + `","orderId":"` + order + `","paymentId":"` + payment + `","amount":1,"currency":"USD"}`)
	}
	for _, dots := range []string{".", ".."} {
		if _, err := wire.Request(request(dots, "o", "p"), time.Now()); err == nil {
			t.Errorf("the refund id %s is taken", dots)
		}
		if _, err := wire.Request(request("r", "o", dots), time.Now()); err == nil {
			t.Errorf("the payment id %s is taken", dots)
		}
		if _, err := wire.Request(request("r", dots, "p"), time.Now()); err != nil {
			t.Errorf("the order id %s is refused: %v", dots, err)
		}
		capture := `{"paymentId":"` + dots + `","captureId":"c","orderId":"o","amount":1,"currency":"USD","channelAccount":"demo"}`
		if _, err := wire.Capture([]byte(capture), time.Now()); err == nil {
			t.Errorf("a capture of the payment %s is taken", dots)
		}
	}
	if _, err := wire.Request(request("...", "o", ".a"), time.Now()); err != nil {
		t.Errorf("three dots are refused: %v", err)
	}
}
