package store

import "context"

// AnchorTrust is what the anchors in the database are checked against.
type AnchorTrust struct{}

func (v *Verifier) anchors(context.Context, *verifyTally) error { return nil }
