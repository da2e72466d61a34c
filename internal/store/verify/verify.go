package verify

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
)

// Config configures a Verifier. URL is required.
type Config struct {
	URL     string
	Schema  string // default "refundry"
	Tenant  string // code of the only tenant to check; "" = all tenants and the anchors
	Samples int    // violations that the report shows for each promise; all of them are counted. Default 10
	Page    int    // refunds read at once; default 500
	// Overdue is how late a timer may be before promise P4 counts as broken; default 2 min. The sweeper counts timers as overdue after 30 s
	// (Swept.Overdue) and repairs them: a timer later than Overdue means that the sweeper does not work.
	Overdue  time.Duration
	Logger   *slog.Logger   // default: discards
	Progress func(Progress) // called before every check and after every page; nil = not called
	Anchors  AnchorTrust    // key and file that anchors are checked against
}

// Verifier checks the promises from the database's rows, and anchors with the key and the file of Config.Anchors. It writes nothing. It has one connection and is not safe for concurrent use.
// Its methods are also in page.go, page_rows.go, anchors.go, export.go and watch.go.
type Verifier struct {
	cfg          Config
	db           Database
	pool         *pgxpool.Pool
	tenants      map[int64]string
	contracts    map[string]map[int]refund.Contract
	installation string
	tenant       *int64 // the only one that is checked; nil = all

	onRefund  func(refund.RefundRef, *refund.Record) // called for each refund of a page; nil record = only its journal is there; nil = not called
	onFinding func(refund.RefundRef, audit.Finding)  // called for each finding of a page; nil = not called
}

// Open connects and reads tenants, contracts and the installation. The session is read only and has the planner's defaults; cfg.URL must not
// go through a pooler in transaction mode. The caller closes the Verifier. Errors: refund.ErrUnavailable; refund.ErrNotFound for an unknown
// Tenant; an error that names the schema if it is not migrated.
func Open(ctx context.Context, cfg Config) (*Verifier, error) {
	if cfg.Schema == "" {
		cfg.Schema = "refundry"
	}
	if cfg.Samples <= 0 {
		cfg.Samples = 10
	}
	if cfg.Page <= 0 {
		cfg.Page = 500
	}
	if cfg.Overdue <= 0 {
		cfg.Overdue = 2 * time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("store: the database URL cannot be read: %w", err)
	}
	pc.MaxConns, pc.MinConns = 1, 0
	pool, err := pg.OpenOwn(ctx, pc, "refundry-verify", pg.OwnSettings(cfg.Schema, map[string]string{"default_transaction_read_only": "on", "jit": "off",
		"work_mem": "65536", "statement_timeout": "0", "idle_in_transaction_session_timeout": "60000"})) // work_mem in kB
	if err != nil {
		return nil, err
	}
	v := &Verifier{cfg: cfg, db: poolDatabase{pool}, pool: pool}
	if err := v.learn(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	return v, nil
}

// Within returns a copy of v whose checks read through db, such as a transaction of the caller that has not committed. Only v is closed, and
// not before the copy's last use.
func (v *Verifier) Within(db Database) *Verifier {
	within := *v
	within.db = db
	return &within
}

// Close closes the connection of v and of its copies by Within.
func (v *Verifier) Close() { v.pool.Close() }

// learn reads what all checks need: tenants, contracts and the installation. Every snapshot of pages reads it again, because tenants and
// contracts may be added during a run.
func (v *Verifier) learn(ctx context.Context, q pg.Querier) error {
	if err := q.QueryRow(ctx, `SELECT installation_id::text FROM installation`).Scan(&v.installation); err != nil {
		return fmt.Errorf("store: the schema %q cannot be verified (is it migrated?): %w", v.cfg.Schema, pg.Translate(err))
	}
	rows, err := q.Query(ctx, `SELECT tenant_id, code FROM tenants`)
	if err != nil {
		return pg.Translate(err)
	}
	v.tenants, v.tenant = map[int64]string{}, nil
	var id int64
	var code string
	if _, err := pgx.ForEachRow(rows, []any{&id, &code}, func() error {
		v.tenants[id] = code
		if code == v.cfg.Tenant {
			only := id
			v.tenant = &only
		}
		return nil
	}); err != nil {
		return pg.Translate(err)
	}
	if v.cfg.Tenant != "" && v.tenant == nil {
		return fmt.Errorf("%w: tenant %q", refund.ErrNotFound, v.cfg.Tenant)
	}
	v.contracts, err = pg.ReadContracts(ctx, q)
	return pg.Translate(err)
}

// Database is where a Verifier reads: single statements, and snapshots.
type Database interface {
	pg.Querier
	// Snapshot begins a transaction that reads one state of the database. The Verifier ends it.
	Snapshot(ctx context.Context) (pgx.Tx, error)
}

type poolDatabase struct{ *pgxpool.Pool }

func (p poolDatabase) Snapshot(ctx context.Context) (pgx.Tx, error) {
	return p.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
}

func (v *Verifier) contract(account string, version int) (refund.Contract, bool) {
	c, ok := v.contracts[account][version]
	return c, ok
}

// shortestHorizon returns the shortest horizon of the account's contracts, 0 without one.
func (v *Verifier) shortestHorizon(account string) (out time.Duration) {
	for _, c := range v.contracts[account] {
		if out == 0 || c.Horizon.D() < out {
			out = c.Horizon.D()
		}
	}
	return out
}

// Run checks everything. An error means that a check could not run; broken promises are in the report.
//
// The service may write meanwhile. Rows that are compared come from one snapshot: each SQL check is one statement, and each page of refunds
// with their journal is one REPEATABLE READ transaction. Different checks and pages see different states of the database.
func (v *Verifier) Run(ctx context.Context) (Report, error) {
	began := time.Now()
	t := newVerifyTally(v.cfg.Samples)
	total, err := v.journalRows(ctx)
	if err != nil {
		return Report{}, err
	}
	for _, c := range checks(v.cfg.Overdue) {
		v.progress(c.name, 0, total)
		if err := v.check(ctx, c, t); err != nil {
			return Report{}, fmt.Errorf("check %s: %w", c.name, err)
		}
	}
	streaming := time.Now()
	at := pageCursor{}
	for done := false; !done; {
		if at, done, err = v.page(ctx, at, t); err != nil {
			return Report{}, fmt.Errorf("journal: %w", err)
		}
		v.progress("journal", t.rows, total)
	}
	t.streamed = time.Since(streaming)
	if v.tenant == nil { // anchors are over all tenants
		if err := v.anchors(ctx, t); err != nil {
			return Report{}, fmt.Errorf("anchors: %w", err)
		}
	}
	return t.report(time.Since(began)), nil
}

func (v *Verifier) progress(phase string, done, total int64) {
	if v.cfg.Progress != nil {
		v.cfg.Progress(Progress{Phase: phase, Done: done, Total: total})
	}
}

// journalRows is the planner's estimate, good enough for a bar.
func (v *Verifier) journalRows(ctx context.Context) (n int64, err error) {
	err = v.db.QueryRow(ctx, `SELECT greatest(0, reltuples)::bigint FROM pg_class WHERE oid = 'journal'::regclass`).Scan(&n)
	return n, pg.Translate(err)
}

// check runs one statement that finds violations.
func (v *Verifier) check(ctx context.Context, c check, t *tally) error {
	rows, err := v.db.Query(ctx, c.statement(), v.tenant, v.cfg.Samples)
	if err != nil {
		return pg.Translate(err)
	}
	var tenant *int64
	var refundID, subject, what string
	var n, seen int64
	_, err = pgx.ForEachRow(rows, []any{&tenant, &refundID, &subject, &what, &n}, func() error {
		seen++
		t.sample(c.promise, Violation{Tenant: v.code(pg.Deref(tenant)), RefundID: refundID, Subject: subject, Check: c.name, What: what})
		return nil
	})
	if seen > 0 {
		t.count(c.promise, n)
	}
	return pg.Translate(err)
}

// code is the tenant's, or its id where none exists.
func (v *Verifier) code(tenant int64) string {
	if code, ok := v.tenants[tenant]; ok {
		return code
	}
	if tenant == 0 {
		return ""
	}
	return fmt.Sprintf("id:%d", tenant)
}
