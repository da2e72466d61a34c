package store

import (
	"testing"
)

func TestTheDamageFixtureIsSound(t *testing.T) {
	t.Parallel()
	f := newDamageFixture(t)
	a := f.anchorer(t)
	a.once(t)
	wantBroken(t, f.verify(t, trusting(a)), "", "")
}
