package bridge_test

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/bridge"
)

// decoded decodes an event that must be readable.
func decoded(t *testing.T, attributes map[string]string, body string) (id, source, tenant string) {
	t.Helper()
	in, tenant, err := bridge.Codec{}.Decode(attributes, []byte(body))
	if err != nil || in.Refund == nil {
		t.Errorf("%v %s: %v", attributes, body, err)
	}
	return in.Event.ID, in.Event.Source, tenant
}

// SDKs write data_base64 when the producer gave them bytes.
func TestDataInBase64AreTheData(t *testing.T) {
	t.Parallel()
	plain := envelope("refund.requested", requestData)
	encoded := strings.Replace(plain, `"data":`+requestData, `"data_base64":"`+base64.StdEncoding.EncodeToString([]byte(requestData))+`"`, 1)
	one, _, err := bridge.Codec{}.Decode(nil, []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := bridge.Codec{}.Decode(nil, []byte(encoded))
	if err != nil || !reflect.DeepEqual(one, two) {
		t.Errorf("data_base64: %+v %v, want %+v", two, err, one)
	}
	for _, wrong := range []string{`"data_base64":"%"`, `"data_base64":7`, `"data_base64":"e30=","data":{}`} {
		body := strings.Replace(plain, `"data":`+requestData, wrong, 1)
		if _, _, err := (bridge.Codec{}).Decode(nil, []byte(body)); err == nil || !strings.Contains(err.Error(), "/data_base64") {
			t.Errorf("%s: %v, want a fault of /data_base64", wrong, err)
		}
	}
}

// The SDK of Go writes data of a media type that ends in +json as a text that contains the document.
func TestDataInATextAreTheData(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(requestData)
	if err != nil {
		t.Fatal(err)
	}
	typed := strings.Replace(envelope("refund.requested", requestData), `"specversion"`, `"datacontenttype":"application/vnd.shop+json","specversion"`, 1)
	decoded(t, nil, strings.Replace(typed, requestData, string(text), 1))
	if _, _, err := (bridge.Codec{}).Decode(nil, []byte(strings.Replace(envelope("refund.requested", requestData), requestData, string(text), 1))); err == nil {
		t.Error("a text as data of application/json is taken")
	}
	for _, wrong := range []string{`"no document"`, `""`, `"\"{}\""`} {
		body := strings.Replace(typed, requestData, wrong, 1)
		if _, _, err := (bridge.Codec{}).Decode(nil, []byte(body)); err == nil || !strings.Contains(err.Error(), "/data") {
			t.Errorf("data %s: %v, want a fault of /data", wrong, err)
		}
	}
}

// JSON has several media types, in any case, and their charset says nothing that the bytes do not say.
func TestEveryMediaTypeOfJSONIsTaken(t *testing.T) {
	t.Parallel()
	for _, media := range []string{"application/json", "Application/JSON; Charset=UTF8", "text/json", "application/vnd.shop+json", "application/json; charset=", ""} {
		body := strings.Replace(envelope("refund.requested", requestData), `"specversion"`, `"datacontenttype":"`+media+`","specversion"`, 1)
		decoded(t, nil, body)
		decoded(t, map[string]string{"specversion": "1.0", "id": "e", "source": "/s", "type": "refund.requested", "datacontenttype": media}, requestData)
	}
}

// A member that is null is absent, whichever attribute it is.
func TestNullAttributesAreAbsent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"datacontenttype", "dataschema", "subject", "traceparent", "data_base64", "replaybatchid"} {
		decoded(t, nil, strings.Replace(envelope("refund.requested", requestData), `"specversion"`, `"`+name+`":null,"specversion"`, 1))
	}
	body := strings.Replace(envelope("refund.requested", requestData), `"id":"e-1"`, `"id":null`, 1)
	if _, _, err := (bridge.Codec{}).Decode(nil, []byte(body)); err == nil || !strings.Contains(err.Error(), "/id is required") {
		t.Errorf("an id of null: %v, want /id is required", err)
	}
}

// The attributes of binary mode are decoded as the HTTP binding says: quotes, then one round of percent-decoding.
func TestAttributesOfHeadersAreDecodedOnce(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"evt-1": "evt-1", `"evt-1"`: "evt-1", `"a\"b\\c"`: `a"b\c`, "e%20%E2%82%AC": "e €", "%2541": "%41", `"%41"`: "A",
		"100%": "100%", "%zz": "%zz", `"half`: `"half`, `a"b"`: `a"b"`, "a+b": "a+b",
	} {
		id, _, _ := decoded(t, map[string]string{"specversion": `"1.0"`, "id": raw, "source": "/s", "type": "refund%2Erequested"}, requestData)
		if id != want {
			t.Errorf("ce-id: %s is %q, want %q", raw, id, want)
		}
	}
}

// Kafka and AMQP do not encode attributes: a percent sign is one.
func TestAttributesOfOtherBindingsAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"ce_", "cloudEvents:", "cloudEvents_"} {
		got := bridge.Canonical(map[string][]string{prefix + "id": {`a%20"b" é`}})["ce-id"]
		id, _, _ := decoded(t, map[string]string{"specversion": "1.0", "id": got[0], "source": "/s", "type": "refund.requested"}, requestData)
		if want := `a%20"b" é`; id != want {
			t.Errorf("%sid is %q, want %q", prefix, id, want)
		}
	}
}

// Times are those of RFC 3339 in both modes.
func TestTimesOfEventsAreOfRFC3339(t *testing.T) {
	t.Parallel()
	attributes := func(text string) map[string]string {
		return map[string]string{"specversion": "1.0", "id": "e", "source": "/s", "type": "refund.requested", "time": text}
	}
	for _, text := range []string{"2026-11-30t18:00:00z", "2016-12-31T23:59:60Z", "2026-11-30T18:00:00.123456789+05:30", ""} {
		decoded(t, attributes(text), requestData)
		one, _, _ := bridge.Codec{}.Decode(attributes(text), []byte(requestData))
		two, _, err := bridge.Codec{}.Decode(nil, []byte(strings.Replace(envelope("refund.requested", requestData), "2026-03-01T10:00:00Z", text, 1)))
		if err != nil || !one.OccurredAt.Equal(two.OccurredAt) || one.OccurredAt.IsZero() != (text == "") {
			t.Errorf("%q: %v in binary mode, %v in structured mode, %v", text, one.OccurredAt, two.OccurredAt, err)
		}
	}
	if _, _, err := (bridge.Codec{}).Decode(attributes("2026-03-01T23:59:60Z"), []byte(requestData)); err == nil {
		t.Error("a leap second inside a month is taken")
	}
}
