package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/bench"
	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/jobs"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/verify"
)

// benchPlace has the database and the folder of the measurements.
type benchPlace struct {
	url string
	dir string
	db  *devdb.DB // nil = given with --database-url
	log *slog.Logger
}

func openBenchPlace(ctx context.Context, url string, log *slog.Logger) (*benchPlace, error) {
	dir, err := os.MkdirTemp("", "refundry-bench-")
	if err != nil {
		return nil, err
	}
	p := &benchPlace{url: url, dir: dir, log: log}
	if url != "" {
		return p, nil
	}
	if err := os.Chmod(dir, 0o755); err != nil { // #nosec G302 -- PostgreSQL's user needs to pass
		return nil, err
	}
	p.db, err = devdb.Start(ctx, devdb.Config{Dir: dir, Logger: log,
		Settings: map[string]string{"shared_buffers": "512MB", "max_wal_size": "4GB", "max_locks_per_transaction": "256"}})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	p.url = p.db.URL()
	return p, nil
}

func (p *benchPlace) close() error {
	var err error
	if p.db != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = p.db.Stop(ctx)
	}
	if e := os.RemoveAll(p.dir); err == nil {
		err = e
	}
	return err
}

// verify checks every promise in the schema of a round and returns the journal rows read and the time of reading. A violation is
// an error.
func (p *benchPlace) verify(ctx context.Context, schema string) (int64, time.Duration, error) {
	v, err := verify.Open(ctx, verify.Config{URL: p.url, Schema: schema, Logger: p.log})
	if err != nil {
		return 0, 0, err
	}
	defer v.Close()
	r, err := v.Run(ctx)
	if err == nil && !r.OK {
		err = errors.New("bench: verify found violations")
	}
	return r.Rows, time.Duration(r.Streamed * float64(time.Second)), err
}

// openDoor opens a target that calls the door directly, without HTTP and workers. Each refund still inserts its job.
func (p *benchPlace) openDoor(ctx context.Context, schema string, tenant refund.Tenant) (bench.Target, error) {
	enqueuer, err := jobs.NewEnqueuer(schema)
	if err != nil {
		return bench.Target{}, err
	}
	book := &accountBook{}
	contract, _ := plain.Kind.Contract(plain.KeyedQueryable)
	book.set(map[string]store.SyncedAccount{demoTenant: {Contract: contract, Tenants: map[refund.TenantID]bool{tenant.ID: true}}})
	s, err := store.Open(ctx, store.Config{URL: p.url, Schema: schema, Enqueuer: enqueuer, Accounts: book})
	if err != nil {
		return bench.Target{}, err
	}
	door := intake.NewDoor(intake.DoorConfig{Accepter: s, NewRID: pg.NewRID}) //nolint:contextcheck // it runs until Stop
	return bench.Target{
		Accept: func(ctx context.Context, in intake.Intake) error {
			out, err := door.Accept(ctx, []intake.Intake{in})
			if err == nil && out[0].Verdict != intake.Taken {
				err = fmt.Errorf("the verdict is %s %s, want TAKEN", out[0].Verdict, out[0].Code)
			}
			return err
		},
		Close: func() { door.Stop(); s.Close() },
	}, nil
}

// openHTTP opens a target that calls the API of a whole service. With work the service also has workers.
func (p *benchPlace) openHTTP(work bool) func(ctx context.Context, schema string, tenant refund.Tenant) (bench.Target, error) {
	return func(ctx context.Context, schema string, tenant refund.Tenant) (target bench.Target, err error) {
		sim, err := startSimulator(ctx, "127.0.0.1:0", filepath.Join(p.dir, schema), "", p.log)
		if err != nil {
			return target, err
		}
		key, err := p.key(ctx, schema, tenant)
		if err != nil {
			return target, err
		}
		settings, err := config.RawSettingsOf(plain.Settings{Endpoint: sim.url()})
		if err != nil {
			return target, err
		}
		a, err := newApp(ctx, appConfig{databaseURL: p.url, schema: schema, listen: "127.0.0.1:0", api: true, worker: work, workers: 32, log: p.log,
			file: config.File{Accounts: map[string]config.Account{demoTenant: {Channel: plain.Kind.Name, Settings: settings, Tenants: []string{tenant.Code},
				Contract: config.Contract{Profile: plain.KeyedQueryable}}}}})
		if err != nil {
			return target, err
		}
		if err := a.start(ctx); err != nil {
			return target, errors.Join(err, a.stop()) //nolint:contextcheck // the drain has its own time
		}
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
		url := "http://" + a.server.Addr().String() + "/v1/refunds"
		return bench.Target{
			Accept: func(ctx context.Context, in intake.Intake) error { return post(ctx, client, url, key, in) },
			Close:  func() { client.CloseIdleConnections(); _ = a.stop(); _ = sim.stop() }, //nolint:contextcheck // the drain has its own time
		}, nil
	}
}

func (p *benchPlace) key(ctx context.Context, schema string, tenant refund.Tenant) (string, error) {
	s, err := store.Open(ctx, store.Config{URL: p.url, Schema: schema, MaxConns: 1})
	if err != nil {
		return "", err
	}
	defer s.Close()
	row, err := s.Tenant(ctx, tenant.Code)
	if err != nil {
		return "", err
	}
	key, err := access.NewAPIKey(rand.Reader, row.Mode)
	if err != nil {
		return "", err
	}
	return key.Reveal(), s.AddKey(ctx, store.NewKey{Tenant: row, Actor: "bench", Kind: "system", Scopes: []string{access.ScopeRefundsWrite}}, key)
}

func post(ctx context.Context, client *http.Client, url, key string, in intake.Intake) error {
	body, err := json.Marshal(map[string]any{"refundId": in.Refund.RefundID, "orderId": in.Refund.OrderID, "paymentId": in.Refund.PaymentID,
		"amount": in.Refund.Amount, "currency": in.Refund.Currency})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", in.Event.ID)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err == nil && res.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("status %d, want 202: %s", res.StatusCode, text)
	}
	return err
}
