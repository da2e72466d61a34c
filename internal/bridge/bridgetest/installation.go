package bridgetest

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/refundtest"
	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/pg"
)

// installation is a database with its store and its Door.
type installation struct {
	store  *store.Store
	door   *intake.Door
	pool   *pgxpool.Pool
	tenant store.TenantRow
	wakes  wakes
}

func newInstallation(t testing.TB, url string) *installation {
	t.Helper()
	s := &installation{}
	var err error
	if s.store, err = store.Open(context.Background(), store.Config{URL: url, Accounts: anyAccount{}, Enqueuer: &s.wakes}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.store.Close)
	s.door = intake.NewDoor(intake.DoorConfig{Accepter: s.store, NewRID: pg.NewRID})
	t.Cleanup(s.door.Stop)
	if s.tenant, err = s.store.AddTenant(context.Background(), "demo", access.ModeTest); err != nil {
		t.Fatal(err)
	}
	if s.pool, err = pg.OpenPool(context.Background(), url, "refundry", 4); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.pool.Close)
	return s
}

type anyAccount struct{}

func (anyAccount) Account(name string, _ refund.TenantID) (refund.Contract, bool, bool) {
	return refundtest.Contract(), name == "demo", true
}

// wakes collects payments for which messages wait.
type wakes struct {
	mu   sync.Mutex
	pays map[string]bool
}

func (w *wakes) EnqueueTx(_ context.Context, _ pgx.Tx, jobs []refund.Wakeup) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range jobs {
		if j.PaymentID != "" {
			if w.pays == nil {
				w.pays = map[string]bool{}
			}
			w.pays[j.PaymentID] = true
		}
	}
	return nil
}
