package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
	"time"

	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
)

// refundPages returns a list function that pages over n refunds, the newest first.
func refundPages(n int) func(httpapi.RefundQuery) []refund.Refund {
	all := make([]refund.Refund, n)
	for i := range all {
		all[i] = sampleRefund(fmt.Sprintf("rf_%d", n-i))
		all[i].RID = refund.RID{14: byte((n - i) >> 8), 15: byte(n - i)}
	}
	return func(q httpapi.RefundQuery) []refund.Refund {
		out := all
		for len(out) > 0 && !q.Before.IsZero() && out[0].RID.Compare(q.Before) >= 0 {
			out = out[1:]
		}
		return out[:min(q.Limit, len(out))]
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.list = refundPages(7)
	var got []string
	path := "/v1/refunds?limit=3&state=PENDING,UNKNOWN"
	for pages := 1; ; pages++ {
		r := c.do("GET", path, "")
		var page struct {
			Items      []struct{ RefundID string }
			NextCursor *string
			HasMore    bool
		}
		if err := json.Unmarshal([]byte(r.body), &page); err != nil || r.status != 200 {
			t.Fatalf("%d %s %v", r.status, r.body, err)
		}
		for _, it := range page.Items {
			got = append(got, it.RefundID)
		}
		if page.HasMore != (page.NextCursor != nil) {
			t.Fatalf("hasMore and nextCursor disagree: %s", r.body)
		}
		if !page.HasMore {
			if pages != 3 {
				t.Errorf("read %d pages, want 3", pages)
			}
			break
		}
		path = "/v1/refunds?limit=3&state=PENDING,UNKNOWN&cursor=" + *page.NextCursor
	}
	if fmt.Sprint(got) != "[rf_7 rf_6 rf_5 rf_4 rf_3 rf_2 rf_1]" {
		t.Errorf("refunds %v, want each one once, the newest first", got)
	}
}

// A cursor with other filters would silently skip rows.
func TestCursorIsValidForItsFiltersOnly(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.list = refundPages(3)
	r := c.do("GET", "/v1/refunds?limit=1&paymentId=pay_77", "")
	var page struct{ NextCursor string }
	if err := json.Unmarshal([]byte(r.body), &page); err != nil {
		t.Fatal(err)
	}
	if r := c.do("GET", "/v1/refunds?limit=2&paymentId=pay_77&cursor="+page.NextCursor, ""); r.status != 200 {
		t.Errorf("%d %s with another page size, want 200", r.status, r.body)
	}
	for _, other := range []string{"", "paymentId=pay_78&", "paymentId=pay_77&case=open&"} {
		if r := c.do("GET", "/v1/refunds?limit=1&"+other+"cursor="+page.NextCursor, ""); r.status != 400 {
			t.Errorf("status %d with the filters %q, want 400", r.status, other)
		}
	}
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	q := url.Values{"state": {"UNKNOWN,ACCEPTED"}, "case": {"open"}, "orderId": {"o:1"}, "paymentId": {"p+1"}, "channelAccount": {"demo"},
		"createdFrom": {"2026-03-01T10:00:00Z"}, "createdBefore": {"2026-03-02T11:00:00+01:00"}, "minSecondsInState": {"60"}}
	if r := c.do("GET", "/v1/refunds?"+q.Encode(), ""); r.status != 200 || r.body == "" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	got := w.query
	if len(got.States) != 2 || got.States[0] != refund.StateUnknown || got.States[1] != refund.StateAccepted ||
		got.HasCase == nil || !*got.HasCase || got.OrderID != "o:1" || got.PaymentID != "p+1" || got.Account != "demo" || !got.CreatedFrom.Equal(epoch) ||
		!got.CreatedBefore.Equal(epoch.Add(24*time.Hour)) ||
		got.MinAgeInState != time.Minute || got.Limit != 51 {
		t.Errorf("query = %+v", got)
	}
}
