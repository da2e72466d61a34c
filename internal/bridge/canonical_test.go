package bridge

import (
	"maps"
	"slices"
	"testing"
)

func TestCanonicalHeaders(t *testing.T) {
	t.Parallel()
	type headers = map[string][]string
	for name, c := range map[string]struct{ native, want headers }{
		"nothing": {nil, headers{}},
		"other headers": {headers{"x-count": {"1", "2"}, "ce": {"x"}, "ce-": {"x"}, "cloudEvents:": {"y"}},
			headers{"x-count": {"1", "2"}, "ce": {"x"}, "ce-": {"x"}, "cloudEvents:": {"y"}}},
		"already canonical": {headers{"ce-id": {"a"}, "content-type": {"t"}}, headers{"ce-id": {"a"}, "content-type": {"t"}}},
		"spelled otherwise": {headers{"CE-Id": {"a"}, "Content-Type": {"t"}}, headers{"ce-id": {"a"}, "content-type": {"t"}}},
		"Kafka":             {headers{"ce_id": {"a"}, "ce_source": {"/s"}}, headers{"ce_id": {"a"}, "ce_source": {"/s"}, "ce-id": {"a"}, "ce-source": {"/s"}}},
		"AMQP 1.0":          {headers{"cloudEvents:id": {"a"}}, headers{"cloudEvents:id": {"a"}, "ce-id": {"a"}}},
		"AMQP 0-9-1":        {headers{"cloudEvents_id": {"a"}}, headers{"cloudEvents_id": {"a"}, "ce-id": {"a"}}},
		"two ways, equal":   {headers{"ce_id": {"a"}, "ce-id": {"a"}}, headers{"ce_id": {"a"}, "ce-id": {"a"}}},
		"two ways, unequal": {headers{"ce_id": {"a"}, "ce-id": {"b"}}, headers{"ce_id": {"a"}, "ce-id": {"b", "a"}}},
		"two spellings":     {headers{"CE-Id": {"a"}, "ce-id": {"b"}}, headers{"ce-id": {"a", "b"}}},
	} {
		got := Canonical(c.native)
		if !maps.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if again := Canonical(got); !maps.EqualFunc(again, got, slices.Equal) && name != "two ways, unequal" {
			t.Errorf("%s: canonical headers changed to %v", name, again)
		}
	}
}

// The headers of every binding are decoded; an event whose id has two values is refused.
func TestNativeHeadersAreRead(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"ce-", "ce_", "cloudEvents:", "cloudEvents_", "CE-"} {
		native := map[string][]string{"Content-Type": {"application/json"}}
		for name, value := range map[string]string{"specversion": "1.0", "id": "e", "source": "/s", "type": "refund.requested", "tenantid": "demo"} {
			native[prefix+name] = []string{value}
		}
		in, tenant, err := Codec{}.Decode(attributesOf(Canonical(native)), []byte(`{"refundId":"r","orderId":"o","paymentId":"p","amount":1,"currency":"USD"}`))
		if err != nil || tenant != "demo" || in.Event.ID != "e" || in.Refund == nil {
			t.Errorf("%s: %+v %v", prefix, in, err)
		}
		native["CE_ID"] = []string{"another"}
		if _, _, err := (Codec{}).Decode(attributesOf(Canonical(native)), []byte(`{}`)); err == nil {
			t.Errorf("%s: an event with two ids was decoded", prefix)
		}
	}
}
