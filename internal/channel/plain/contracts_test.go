package plain_test

import (
	"encoding/json"
	"testing"

	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/refund"
)

// TestShippedProfiles checks that every profile is a valid contract that its stored form reproduces, since its digest
// identifies the version.
func TestShippedProfiles(t *testing.T) {
	t.Parallel()
	for _, name := range plain.Kind.Profiles() {
		c, ok := plain.Kind.Contract(name)
		if !ok || c.Profile != name {
			t.Errorf("profile %q: got %q, %v", name, c.Profile, ok)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("profile %q: %v", name, err)
		}
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var back refund.Contract
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		again, err := back.Encode()
		if err != nil || string(again) != string(text) {
			t.Errorf("profile %q does not survive its stored form: %s, %v", name, again, err)
		}
	}
	if _, ok := plain.Kind.Contract("unheard-of"); ok {
		t.Error("an unknown profile must not be guessed")
	}
}

// TestProfilesRecover checks how each profile recovers from an ambiguous send.
func TestProfilesRecover(t *testing.T) {
	t.Parallel()
	want := map[string]refund.Recovery{
		plain.KeyedQueryable: refund.RecoverByQuery,
		plain.ListAndMatch:   refund.RecoverByList,
		plain.KeyReplayOnly:  refund.RecoverByReplay,
		plain.KeyAfter2xx:    refund.RecoverByList,
		plain.NoticeOnly:     refund.RecoverByNotice,
		plain.Blind:          refund.RecoverByNobody,
	}
	if len(want) != len(plain.Kind.Profiles()) {
		t.Errorf("%d profiles ship, %d are judged here", len(plain.Kind.Profiles()), len(want))
	}
	for name, r := range want {
		if c, _ := plain.Kind.Contract(name); c.Recovery() != r {
			t.Errorf("%s recovers by %s, want %s", name, c.Recovery(), r)
		}
	}
}
