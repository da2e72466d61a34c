package store

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/migrate"
)

// TestBlockedPartitionsAndWaitingAlarmsAreCounted: a row in a default partition blocks the partition of its time, and somebody must learn of it.
func TestBlockedPartitionsAndWaitingAlarmsAreCounted(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	want := func(what string, alarms, blocked int) {
		t.Helper()
		got, err := f.reader().Backlog(t.Context())
		if err != nil || got.Alarms != alarms || got.Blocked != blocked {
			t.Errorf("%s: %d alarms, %d blocked, %v, want %d and %d", what, got.Alarms, got.Blocked, err, alarms, blocked)
		}
	}
	want("at first", 0, 0)
	for position, alarm := range map[string]string{"due": "-1 minute", "later": "10 minutes"} {
		if err := f.Park(t.Context(), f.tenant.ID, intake.EventID{Consumer: "orders"}, "payment-unknown", intake.Park{Position: position, Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.pool.Exec(t.Context(), `UPDATE parked SET alarm_at = now() + $1::interval WHERE position = $2`, alarm, position); err != nil {
			t.Fatal(err)
		}
	}
	want("one message has waited too long", 1, 0)
	if _, err := f.pool.Exec(t.Context(), `INSERT INTO receipts (tenant_id, consumer, source, event_id, month, type, digest, params, outcome, code)
		VALUES ($1, 'rest', 'rest', 'e_late', date '2031-05-01', 'refund.requested', decode(repeat('00', 33), 'hex'), '{}', 'REFUSED', 'event-expired')`,
		int64(f.tenant.ID)); err != nil {
		t.Fatal(err)
	}
	want("a receipt of a month without a partition", 1, 1)
	made, err := migrate.EnsurePartitions(t.Context(), f.pool, migrate.PartitionsConfig{Now: may2031})
	if err != nil || len(made.Blocked) != 1 || made.Blocked[0] != "receipts_2031_05" {
		t.Errorf("%+v %v, want that the partition of the month is blocked", made, err)
	}
}

func may2031() time.Time { return time.Date(2031, 5, 2, 0, 0, 0, 0, time.UTC) }
