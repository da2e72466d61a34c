package bridge_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

const (
	requestData = `{"refundId":"rf_1","orderId":"ord_1","paymentId":"pay_1","amount":1250,"currency":"USD"}`
	captureData = `{"paymentId":"pay_1","captureId":"cap_1","orderId":"ord_1","amount":10000,"currency":"USD","channelAccount":"demo","channelReference":"ch_1"}`
)

func envelope(typ, data string) string {
	return `{"specversion":"1.0","id":"e-1","source":"/shop","type":"` + typ + `","time":"2026-03-01T10:00:00Z","tenantid":"demo","data":` + data + `}`
}

func TestDecodeStructuredRefund(t *testing.T) {
	t.Parallel()
	data := `{"refundId":"rf_1","orderId":"ord_1","paymentId":"pay_1","amount":1250,"currency":"USD","reason":"broken \u00e9","metadata":{"ticket":"T-9"},
		"payment":{"orderId":"ord_1","amount":10000,"currency":"USD","channelAccount":"demo","version":3,"refundedElsewhere":5,
			"paidAt":"2026-02-28T23:59:59.1234567+01:00"}}`
	in, tenant, err := bridge.Codec{}.Decode(nil, []byte(envelope("refund.requested", data)))
	if err != nil {
		t.Fatal(err)
	}
	want := intake.Request{
		Params: refund.Params{RefundID: "rf_1", OrderID: "ord_1", PaymentID: "pay_1", Amount: 1250, Currency: "USD"}, Reason: "broken é",
		Metadata: map[string]string{"ticket": "T-9"},
		Payment: &intake.PaymentSpec{OrderID: "ord_1", Amount: 10000, Currency: "USD", Account: "demo", Version: 3, VersionGiven: true, RefundedElsewhere: 5, ElsewhereGiven: true,
			PaidAt: time.Date(2026, 2, 28, 22, 59, 59, 123456000, time.UTC)},
	}
	want.ComputeIdentity()
	if in.Refund == nil || !reflect.DeepEqual(*in.Refund, want) {
		t.Errorf("content = %+v, want %+v", in.Refund, want)
	}
	if tenant != "demo" || in.Event != (intake.EventID{Source: "/shop", ID: "e-1"}) || in.Type != intake.TypeRefundRequested || in.Capture != nil {
		t.Errorf("identity = %q %+v %s", tenant, in.Event, in.Type)
	}
	if want := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC); !in.OccurredAt.Equal(want) {
		t.Errorf("time = %s, want %s", in.OccurredAt, want)
	}
}

func TestDecodeBinaryCaptureEqualsStructured(t *testing.T) {
	t.Parallel()
	one, _, err := bridge.Codec{}.Decode(nil, []byte(envelope("payment.captured", captureData)))
	if err != nil {
		t.Fatal(err)
	}
	two, tenant, err := bridge.Codec{}.Decode(map[string]string{"specversion": "1.0", "id": "e-1", "source": "/shop", "type": "payment.captured",
		"time": "2026-03-01T10:00:00Z", "tenantid": "demo", "datacontenttype": "application/json; charset=utf-8"}, []byte(captureData))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one, two) || tenant != "demo" {
		t.Errorf("binary mode %+v, structured mode %+v, want equal intakes", two, one)
	}
	if one.Capture == nil || one.Digest() != refund.CaptureDigest("pay_1", "cap_1", 10000, "USD") {
		t.Errorf("capture = %+v", one.Capture)
	}
}

// The identity of an event is the source as its producer wrote it, without normalisation.
func TestDecodeKeepsSourceAsWritten(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"HTTP://Shop/%7Ea?b=%20", "urn:shop:1", "//host/", "a b"} {
		body := strings.Replace(envelope("refund.requested", requestData), "/shop", source, 1)
		in, _, err := bridge.Codec{}.Decode(nil, []byte(body))
		if err == nil && in.Event.Source != source {
			t.Errorf("source = %q, want %q", in.Event.Source, source)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	swap := func(from, to string) string { return strings.Replace(requestData, from, to, 1) }
	for name, c := range map[string]struct{ body, pointer string }{
		"not json":        {`{"id":`, "/id"},
		"not an object":   {`[]`, ""},
		"no version":      {strings.Replace(envelope("refund.requested", requestData), `"specversion":"1.0",`, "", 1), "/specversion"},
		"another version": {strings.Replace(envelope("refund.requested", requestData), `"1.0"`, `"0.3"`, 1), "/specversion"},
		"no id":           {strings.Replace(envelope("refund.requested", requestData), `"e-1"`, `""`, 1), "/id"},
		"id is a number":  {strings.Replace(envelope("refund.requested", requestData), `"e-1"`, `1`, 1), "/id"},
		"id twice":        {strings.Replace(envelope("refund.requested", requestData), `"id":"e-1"`, `"id":"e-1","id":"e-2"`, 1), "/id"},
		"id too long":     {strings.Replace(envelope("refund.requested", requestData), `"e-1"`, `"`+strings.Repeat("x", 1025)+`"`, 1), "/id"},
		"no data":         {`{"specversion":"1.0","id":"e-1","source":"/shop","type":"refund.requested"}`, "/data"},
		"base64":          {`{"specversion":"1.0","id":"e-1","source":"/shop","type":"refund.requested","data_base64":"e30="}`, "/data/refundId"},
		"xml": {strings.Replace(envelope("refund.requested", requestData), `"tenantid"`, `"datacontenttype":"text/xml","tenantid"`,
			1), "/datacontenttype"},
		"bad time":                  {strings.Replace(envelope("refund.requested", requestData), "2026-03-01T10:00:00Z", "yesterday", 1), "/time"},
		"another type":              {envelope("refund.deleted", requestData), "/type"},
		"data is null":              {envelope("refund.requested", "null"), "/data"},
		"data is text":              {envelope("refund.requested", `"{}"`), "/data"},
		"amount is a float":         {envelope("refund.requested", swap("1250", "12.50")), "/data/amount"},
		"amount has an exponent":    {envelope("refund.requested", swap("1250", "1e3")), "/data/amount"},
		"amount is text":            {envelope("refund.requested", swap("1250", `"1250"`)), "/data/amount"},
		"amount is null":            {envelope("refund.requested", swap("1250", "null")), "/data/amount"},
		"amount is zero":            {envelope("refund.requested", swap("1250", "0")), "/data/amount"},
		"amount is negative":        {envelope("refund.requested", swap("1250", "-5")), "/data/amount"},
		"amount is too large":       {envelope("refund.requested", swap("1250", "9007199254740992")), "/data/amount"},
		"amount is beyond int64":    {envelope("refund.requested", swap("1250", "99999999999999999999")), "/data/amount"},
		"amount twice":              {envelope("refund.requested", swap(`"amount":1250`, `"amount":1250,"amount":1`)), "/data/amount"},
		"AMOUNT":                    {envelope("refund.requested", swap(`"amount":1250`, `"amount":1250,"AMOUNT":1`)), "/data/AMOUNT"},
		"amount missing":            {envelope("refund.requested", swap(`"amount":1250,`, "")), "/data/amount"},
		"currency in small letters": {envelope("refund.requested", swap("USD", "usd")), "/data/currency"},
		"unknown currency":          {envelope("refund.requested", swap("USD", "ABC")), "/data/currency"},
		"id with a space":           {envelope("refund.requested", swap("rf_1", "rf 1")), "/data/refundId"},
		"reason is empty":           {envelope("refund.requested", swap(`"USD"`, `"USD","reason":""`)), "/data/reason"},
		"reason holds U+0000":       {envelope("refund.requested", swap(`"USD"`, `"USD","reason":"\u0000"`)), "/data/reason"},
		"metadata holds a number":   {envelope("refund.requested", swap(`"USD"`, `"USD","metadata":{"a":1}`)), "/data/metadata/a"},
		"metadata is an array":      {envelope("refund.requested", swap(`"USD"`, `"USD","metadata":[]`)), "/data/metadata"},
		"payment, unknown member": {envelope("refund.requested",
			swap(`"USD"`, `"USD","payment":{"orderId":"o","amount":1,"currency":"USD","channelAccount":"demo","x":1}`)), "/data/payment/x"},
		"payment lacks the account": {envelope("refund.requested", swap(`"USD"`, `"USD","payment":{"orderId":"o","amount":1,"currency":"USD"}`)),
			"/data/payment/channelAccount"},
		"payment version negative": {envelope("refund.requested",
			swap(`"USD"`, `"USD","payment":{"orderId":"o","amount":1,"currency":"USD","channelAccount":"demo","version":-1}`)), "/data/payment/version"},
		"capture of no payment":    {envelope("payment.captured", strings.Replace(captureData, `"paymentId":"pay_1",`, "", 1)), "/data/paymentId"},
		"capture reference spaces": {envelope("payment.captured", strings.Replace(captureData, "ch_1", "ch 1", 1)), "/data/channelReference"},
	} {
		in, _, err := bridge.Codec{}.Decode(nil, []byte(c.body))
		var u *bridge.Undecodable
		if !errors.As(err, &u) {
			t.Errorf("%s: %+v %v, want *Undecodable", name, in, err)
			continue
		}
		if u.Pointer() != c.pointer {
			t.Errorf("%s: pointer %q (%s), want %q", name, u.Pointer(), u.Detail(), c.pointer)
		}
		if in.Refund != nil || in.Capture != nil {
			t.Errorf("%s: the intake of an undecodable event has content", name)
		}
	}
}

// Undecodable events keep their identity, so that people can distinguish them.
func TestDecodeKeepsIdentityOfTheUndecodable(t *testing.T) {
	t.Parallel()
	in, tenant, err := bridge.Codec{}.Decode(nil, []byte(envelope("refund.requested", `{"amount":1.5}`)))
	if err == nil || in.Event.ID != "e-1" || in.Event.Source != "/shop" || tenant != "demo" {
		t.Errorf("%+v %q %v, want the identity of the undecodable event", in.Event, tenant, err)
	}
}

func TestBinaryRefuses(t *testing.T) {
	t.Parallel()
	good := func() map[string]string {
		return map[string]string{"specversion": "1.0", "id": "e-1", "source": "/shop", "type": "refund.requested"}
	}
	for name, change := range map[string]func(map[string]string){
		"no id":          func(a map[string]string) { delete(a, "id") },
		"no source":      func(a map[string]string) { delete(a, "source") },
		"version":        func(a map[string]string) { a["specversion"] = "2.0" },
		"time":           func(a map[string]string) { a["time"] = "now" },
		"media type":     func(a map[string]string) { a["datacontenttype"] = "text/plain" },
		"attribute name": func(a map[string]string) { a["trace-id"] = "x" },
	} {
		a := good()
		change(a)
		if _, _, err := (bridge.Codec{}).Decode(a, []byte(requestData)); err == nil {
			t.Errorf("%s: accepted, want *Undecodable", name)
		}
	}
	if in, _, err := (bridge.Codec{}).Decode(good(), []byte(requestData)); err != nil || in.Refund == nil {
		t.Errorf("a good event in binary mode: %v", err)
	}
}
