package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"time"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/store/verify"
)

// guardConfig is what watches over the promises while the service runs.
type guardConfig struct {
	lossless    bool          // failover loses nothing
	verifyEvery time.Duration // between two small checks; 0 = off
	anchorEvery time.Duration // 0 = no anchors
	anchorKey   string        // where the signing key is
	anchorFile  string
}

// epochEvery is how often every replica looks whether the database is still where it was.
const epochEvery = time.Second

func (g *guardConfig) bind(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&g.lossless, "failover-lossless", false, "a failover of the database loses no commit (synchronous standby): go on sending after one")
	cmd.Flags().DurationVar(&g.verifyEvery, "verify-every", time.Second, "between two small pieces of the continuous check of all promises, a whole table is read every 60th time; 0 = off")
	cmd.Flags().DurationVar(&g.anchorEvery, "anchor-every", 5*time.Minute, "how often the journal is anchored; 0 = never")
	cmd.Flags().StringVar(&g.anchorKey, "anchor-key", "", "ed25519 key that signs anchors: file:PATH or env:NAME, PEM (PKCS #8) or 64 hex digits; none = hashes without a signature")
	cmd.Flags().StringVar(&g.anchorFile, "anchor-file", "", "append-only copy of the anchors, best on a disk that the database cannot write")
}

// guard holds what it opened.
type guard struct {
	verifier *verify.Verifier
	anchorer *verify.Anchorer
}

// openGuard looks where the database is before anything can be sent, and prepares what runs later.
func (a *app) openGuard(ctx context.Context) error {
	g := a.cfg.guard
	if err := a.watchEpoch(ctx); err != nil {
		return err
	}
	if g.anchorEvery > 0 {
		key, err := readSigningKey(g.anchorKey)
		if err != nil {
			return err
		}
		a.guard.anchorer, err = verify.NewAnchorer(ctx, verify.AnchorConfig{Pool: a.store.Pool(), Schema: a.cfg.schema, Key: key, File: g.anchorFile, Every: g.anchorEvery, Logger: a.log})
		if err != nil {
			return err
		}
		if key != nil {
			a.log.InfoContext(ctx, "anchors are signed", "publicKey", hex.EncodeToString(key.Public().(ed25519.PublicKey))) //nolint:forcetypeassert,errcheck // documented by the package
		}
	}
	if g.verifyEvery > 0 {
		var err error
		if a.guard.verifier, err = verify.Open(ctx, verify.Config{URL: a.cfg.direct(), Schema: a.cfg.schema, Logger: a.log}); err != nil {
			return err
		}
		a.opened(a.guard.verifier.Close)
	}
	return nil
}

// watchPromises checks all promises piece by piece until ctx ends.
func (a *app) watchPromises(ctx context.Context) {
	every := a.cfg.guard.verifyEvery
	a.guard.verifier.Watch(ctx, verify.WatchConfig{Every: every, Cheap: 15 * every, Whole: 60 * every, Report: func(r verify.WatchReport) {
		a.metrics.SetPromises(r.Violations, r.MostMoved, r.Excess)
	}})
}

// watchEpochs looks every second, and marks refunds that may have been lost and come again.
func (a *app) watchEpochs(ctx context.Context) {
	tick := time.NewTicker(epochEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := a.watchEpoch(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "epoch not checked", "error", err.Error())
			continue
		}
		if n, err := a.store.MarkReappeared(ctx, reappearedBatch); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "refunds seen again not marked", "error", err.Error())
		} else if n > 0 {
			a.log.InfoContext(ctx, "refunds marked that may have been lost by the restore", "refunds", n)
		}
	}
}

// reappearedBatch bounds one pass of marking.
const reappearedBatch = 500

func (a *app) watchEpoch(ctx context.Context) error {
	e, err := a.store.WatchEpoch(ctx, a.cfg.guard.lossless)
	if err == nil {
		a.metrics.SendingHeld(e.HeldSince != nil)
	}
	return err
}
