package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/verify"
)

// guardConfig has the settings of the checks that run beside the service.
type guardConfig struct {
	lossless    bool          // a failover of the database loses no commit
	verifyEvery time.Duration // between two pieces of the continuous check; 0 = off
	tables      time.Duration // between two rounds of its whole-table checks; 0 = off
	tablesAt    time.Duration // of the day, UTC
	anchorEvery time.Duration // 0 = no anchors
	anchorKey   string        // file:PATH or env:NAME of the signing key; "" = unsigned
	anchorFile  string
}

// epochEvery is how often every replica checks whether the database was restored or failed over.
const epochEvery = time.Second

func (g *guardConfig) bind(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&g.lossless, "failover-lossless", false,
		"a failover of the database loses no commit (synchronous standby): keep sending after one")
	cmd.Flags().DurationVar(&g.verifyEvery, "verify-every", time.Second,
		"time between two pieces of the continuous check of all promises, which one process does for all; 0 = no check")
	cmd.Flags().DurationVar(&g.tables, "verify-tables", 24*time.Hour,
		"time between two rounds of the continuous check's statements that read whole tables; 0 = they are left to refundry verify")
	cmd.Flags().DurationVar(&g.tablesAt, "verify-tables-at", 2*time.Hour, "time of the day, UTC, at which such a round begins")
	cmd.Flags().DurationVar(&g.anchorEvery, "anchor-every", 5*time.Minute, "time between two anchors of the journal; 0 = no anchors")
	cmd.Flags().StringVar(&g.anchorKey, "anchor-key", "",
		"ed25519 private key that signs the anchors, PEM (PKCS #8) or 64 hex digits, as file:PATH or env:NAME (default: unsigned)")
	cmd.Flags().StringVar(&g.anchorFile, "anchor-file", "",
		"append-only copy of the anchors, best on a disk that the database cannot write; a database behind it was restored (default: no copy)")
}

// guard has the checks that run beside the service; nil = off.
type guard struct {
	continuousCheck *verify.Verifier
	anchorer        *verify.Anchorer
}

// openGuard opens the anchorer, checks the epoch before anything can be sent, with what the anchor file says, and opens the continuous check.
func (a *app) openGuard(ctx context.Context) error {
	g := a.cfg.guard
	if err := a.openAnchorer(ctx); err != nil {
		return err
	}
	if err := a.watchEpoch(ctx); err != nil {
		return err
	}
	if g.verifyEvery > 0 {
		var err error
		if a.guard.continuousCheck, err = verify.Open(ctx, verify.Config{URL: a.cfg.direct(), Schema: a.cfg.schema, Logger: a.log}); err != nil {
			return err
		}
		a.opened(a.guard.continuousCheck.Close)
	}
	return nil
}

// openAnchorer opens the anchorer. A database that is behind its file was restored: sending is held.
func (a *app) openAnchorer(ctx context.Context) error {
	g := a.cfg.guard
	if g.anchorEvery <= 0 && g.anchorFile == "" {
		return nil
	}
	key, err := readSigningKey(g.anchorKey)
	if err != nil {
		return err
	}
	anchorer, err := verify.NewAnchorer(ctx, verify.AnchorConfig{Pool: a.store.Pool(), Schema: a.cfg.schema, Key: key, File: g.anchorFile,
		Every: g.anchorEvery, Logger: a.log, CommitUnknown: a.metrics.CommitUnknown})
	if err != nil {
		return err
	}
	seen, err := anchorer.Seen(ctx)
	if err != nil && !errors.Is(err, verify.ErrFileAhead) {
		return err
	}
	a.store.Remember(seen)
	if err != nil {
		a.log.ErrorContext(ctx, "the anchor file is ahead of the database", "error", err.Error())
		if _, err := a.store.HoldSending(ctx, pg.SignAnchor); err != nil {
			return err
		}
	}
	if g.anchorEvery <= 0 {
		return nil
	}
	a.guard.anchorer = anchorer
	if key != nil {
		public := key.Public().(ed25519.PublicKey) //nolint:forcetypeassert,errcheck // documented by the package
		a.log.InfoContext(ctx, "anchors are signed", "publicKey", hex.EncodeToString(public))
	}
	return nil
}

// runContinuousCheck checks all promises, one piece at a time, and sets their gauges, until ctx ends. It does nothing while another process
// checks.
func (a *app) runContinuousCheck(ctx context.Context) {
	g := a.cfg.guard
	a.guard.continuousCheck.Watch(ctx, verify.WatchConfig{Every: g.verifyEvery, Cheap: 15 * g.verifyEvery, Tables: g.tables, TablesAt: g.tablesAt,
		Report: func(r verify.WatchReport) { a.metrics.SetPromises(r.Leads, r.Violations, r.MostMoved, r.Excess) }})
}

// watchEpochs checks the epoch every second and marks the refunds that repeat requests which a restore may have lost.
func (a *app) watchEpochs(ctx context.Context) {
	for clock.Pause(ctx, clock.Jitter(epochEvery, watchJitter)) == nil {
		if err := a.watchEpoch(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "the epoch could not be checked", "error", err.Error())
			continue
		}
		if n, err := a.store.MarkReappeared(ctx, reappearedBatch); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "refunds that repeat lost requests could not be marked", "error", err.Error())
		} else if n > 0 {
			a.log.InfoContext(ctx, "refunds marked, because they may repeat requests that the restore lost", "refunds", n)
		}
	}
}

// reappearedBatch is the number of refunds that one pass marks at most.
const reappearedBatch = 500

// watchEpoch checks the epoch once and sets its metric.
func (a *app) watchEpoch(ctx context.Context) error {
	e, err := a.store.WatchEpoch(ctx, a.cfg.guard.lossless)
	if err == nil {
		a.metrics.SendingHeld(e.HeldSince != nil)
	}
	return err
}
