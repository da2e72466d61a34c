package verify

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
)

// AnchorConfig of an Anchorer. Pool is needed: one connection of it is used at a time.
type AnchorConfig struct {
	Pool    *pgxpool.Pool
	Schema  string             // default "refundry"
	Key     ed25519.PrivateKey // nil = anchors are hashes without a signature
	File    string             // append-only copy outside of the database; "" = none
	Every   time.Duration      // default 5 min
	MaxRows int                // rows that one anchor covers at most; default 100,000
	Fence   time.Duration      // how long older writers are waited for; default 10 s, then the next turn tries again
	Logger  *slog.Logger       // default: discards

	CommitUnknown func() // called for every COMMIT whose answer was lost; nil = not called
}

// Anchorer sums up the journal range by range, so that a later change of history shows. Every replica may run one: an advisory
// lock lets one at a time write, and each keeps its own file.
type Anchorer struct {
	cfg          AnchorConfig
	log          *slog.Logger
	installation string
}

// NewAnchorer reads which installation it works for. Errors: refund.ErrUnavailable, or a file that cannot be used.
func NewAnchorer(ctx context.Context, cfg AnchorConfig) (*Anchorer, error) {
	if cfg.Schema == "" {
		cfg.Schema = "refundry"
	}
	if cfg.Every <= 0 {
		cfg.Every = 5 * time.Minute
	}
	if cfg.MaxRows <= 0 {
		cfg.MaxRows = 100_000
	}
	if cfg.Fence <= 0 {
		cfg.Fence = 10 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Anchorer{cfg: cfg, log: cfg.Logger}
	if err := cfg.Pool.QueryRow(ctx, `SELECT installation_id::text FROM installation`).Scan(&a.installation); err != nil {
		return nil, pg.Translate(err)
	}
	if cfg.File != "" {
		if _, err := readAnchorFile(cfg.File); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// lastAnchorTime bounds the anchoring at the end of Run.
const lastAnchorTime = 3 * time.Second

// Run anchors until ctx ends, and a last time then, so that the file of a process that was stopped lacks nothing.
func (a *Anchorer) Run(ctx context.Context) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnchorTime)
		defer cancel()
		if err := a.Once(ctx); err != nil {
			a.log.WarnContext(ctx, "journal not anchored at the end", "error", err)
		}
	}()
	tick := time.NewTicker(a.cfg.Every)
	defer tick.Stop()
	for {
		if err := a.Once(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "journal not anchored", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Once anchors what has been written since the last anchor, and brings the file up to date. Somebody else's turn is no error.
func (a *Anchorer) Once(ctx context.Context) error {
	for {
		more := false
		err := pg.Rerun(ctx, a.log, "anchor of the journal", func() (err error) { // a rerun goes on behind an anchor that was stored
			if more, err = a.next(ctx); errors.Is(err, refund.ErrCommitUnknown) && a.cfg.CommitUnknown != nil {
				a.cfg.CommitUnknown()
			}
			return err
		})
		if err != nil {
			return err
		}
		if !more {
			return a.copyToFile(ctx)
		}
	}
}

const (
	lastAnchorSQL   = `SELECT upto_pos, hash FROM journal_anchors ORDER BY upto_pos DESC LIMIT 1`
	insertAnchorSQL = `INSERT INTO journal_anchors (upto_pos, rows, hash, signature) VALUES ($1, $2, $3, $4)`
	anchorRowsSQL   = `SELECT pos, tenant_id, rid, seq, hash FROM journal WHERE pos > $1 AND pos <= $2 ORDER BY pos LIMIT $3`
	lockAnchor      = "anchor"
)

// next writes one anchor. more says that rows are left.
func (a *Anchorer) next(ctx context.Context) (more bool, err error) {
	tx, err := a.cfg.Pool.Begin(ctx)
	if err != nil {
		return false, pg.Translate(err)
	}
	defer pg.Undo(ctx, tx)
	var mine bool
	if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, refund.AdvisoryKey(a.cfg.Schema, lockAnchor, 0, "")).Scan(&mine); err != nil || !mine {
		return false, pg.Translate(err)
	}
	var upto int64
	var prev []byte
	if err := tx.QueryRow(ctx, lastAnchorSQL).Scan(&upto, &prev); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, pg.Translate(err)
	}
	top, err := pg.Fence(ctx, tx, a.cfg.Fence)
	if err != nil {
		return false, pg.Translate(err)
	}
	h := audit.NewAnchorHash(hash32(prev))
	last, err := hashRows(ctx, tx, h, upto, top, a.cfg.MaxRows)
	if err != nil || h.Rows() == 0 {
		return false, pg.Translate(err)
	}
	more = h.Rows() == int64(a.cfg.MaxRows)
	sum := h.Sum(last)
	if _, err := tx.Exec(ctx, insertAnchorSQL, last, h.Rows(), sum[:], a.sign(audit.AnchorStatement(a.installation, last, h.Rows(), sum))); err != nil {
		return false, pg.Translate(err)
	}
	fault.Point(fault.AnchorWritten)
	if err := pg.CommitError(tx.Commit(ctx)); err != nil {
		return false, err
	}
	fault.Point(fault.AnchorCommitted)
	a.log.DebugContext(ctx, "journal anchored", "uptoPos", last, "rows", h.Rows())
	return more, nil
}

// hashRows adds the rows behind from and up to to, at most limit, and gives the last one's position.
func hashRows(ctx context.Context, q pg.Querier, h *audit.AnchorHash, from, to int64, limit int) (last int64, err error) {
	rows, err := q.Query(ctx, anchorRowsSQL, from, to, limit)
	if err != nil {
		return from, err
	}
	last = from
	var r audit.AnchorRow
	var tenant int64
	var rid [16]byte
	var hash []byte
	_, err = pgx.ForEachRow(rows, []any{&r.Pos, &tenant, &rid, &r.Seq, &hash}, func() error {
		r.Key, r.Hash, last = refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}, hash32(hash), r.Pos
		h.Add(r)
		return nil
	})
	return last, err
}

func hash32(b []byte) (out [32]byte) {
	copy(out[:], b)
	return out
}

func (a *Anchorer) sign(statement []byte) []byte {
	if a.cfg.Key == nil {
		return nil
	}
	return ed25519.Sign(a.cfg.Key, statement)
}

// PublicKey is what signatures are checked with, nil without a key.
func (a *Anchorer) PublicKey() ed25519.PublicKey {
	if a.cfg.Key == nil {
		return nil
	}
	return a.cfg.Key.Public().(ed25519.PublicKey) //nolint:forcetypeassert,errcheck // documented by the package
}
