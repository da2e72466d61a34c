package refund_test

import (
	"encoding/json"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

// A shipped profile is a valid contract, and its stored form reads back as itself: its digest tells versions apart.
func TestShippedProfiles(t *testing.T) {
	t.Parallel()
	for _, name := range refund.Profiles() {
		c, ok := refund.Profile(name)
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
	if _, ok := refund.Profile("unheard-of"); ok {
		t.Error("an unknown profile must not be guessed")
	}
}

// What each profile can do about an ambiguous send is its whole point.
func TestProfilesRecover(t *testing.T) {
	t.Parallel()
	want := map[string]refund.Recovery{
		refund.ProfileKeyedQueryable: refund.RecoverByQuery,
		refund.ProfileListAndMatch:   refund.RecoverByList,
		refund.ProfileKeyReplayOnly:  refund.RecoverByReplay,
		refund.ProfileKeyAfter2xx:    refund.RecoverByList,
		refund.ProfileNoticeOnly:     refund.RecoverByNotice,
		refund.ProfileBlind:          refund.RecoverByNobody,
	}
	if len(want) != len(refund.Profiles()) {
		t.Errorf("%d profiles ship, %d are judged here", len(refund.Profiles()), len(want))
	}
	for name, r := range want {
		if c, _ := refund.Profile(name); c.Recovery() != r {
			t.Errorf("%s recovers by %s, want %s", name, c.Recovery(), r)
		}
	}
}
