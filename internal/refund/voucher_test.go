package refund

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestVoucherText(t *testing.T) {
	t.Parallel()
	big := map[string]string{}
	for _, c := range "abcdefghijklmnop" {
		big[strings.Repeat(string(c), 70)] = strings.Repeat("\x01", 600)
	}
	for name, c := range map[string]struct {
		v    map[string]string
		want string
	}{
		"none":              {nil, ""},
		"empty":             {map[string]string{"": "x", "arn": ""}, ""},
		"in order":          {map[string]string{"receipt": "9", "arn": "745"}, `{"arn":"745","receipt":"9"}`},
		"not for the jsonb": {map[string]string{"a\x00\xff": "b\x00\xfe"}, `{"a":"b"}`},
		"cut":               {map[string]string{"a": strings.Repeat("é", 300)}, `{"a":"` + strings.Repeat("é", 256) + `"}`},
	} {
		if got := VoucherText(c.v); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	got := VoucherText(big)
	var back map[string]string
	if err := json.Unmarshal([]byte(got), &back); err != nil || len(got) > 4096 || len(back) == 0 || VoucherText(big) != got {
		t.Errorf("%d bytes, %d members, %v: what does not fit is left out, the same way every time", len(got), len(back), err)
	}
}
