package store

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// The key's end counts from the first send, and a later contract only makes it earlier.
func TestClaimTightensTheKey(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	f.contract.Key.Lifetime = refund.Duration(time.Hour)
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	f.enter(t, k, answered(c, refund.NotSent))
	first := f.load(t, k).Dispatches[0].KeyExpiresAt
	if want := c.StartedAt.Add(time.Hour); !first.Equal(want) {
		t.Errorf("key expires %s, want %s", first, want)
	}
	for _, x := range []struct{ lifetime, dies time.Duration }{{2 * time.Hour, time.Hour}, {0, time.Hour}, {30 * time.Minute, 30 * time.Minute},
		{time.Hour, 30 * time.Minute}} {
		f.contract.Key.Lifetime = refund.Duration(x.lifetime)
		again := f.claim(t, k, refund.AttemptSend, 10*time.Second)
		f.enter(t, k, answered(again, refund.NotSent))
		if got, want := f.load(t, k).Dispatches[0].KeyExpiresAt, c.StartedAt.Add(x.dies); !got.Equal(want) {
			t.Errorf("with a lifetime of %s: key expires %s, want %s", x.lifetime, got, want)
		}
	}
}
