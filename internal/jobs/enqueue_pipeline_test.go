package jobs

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// TestPipelineWritesRiversRow compares the inserted row with the row that River writes, in every column but its id and
// times.
func TestPipelineWritesRiversRow(t *testing.T) {
	b := newBench(t, testContract())
	e, err := NewEnqueuer("")
	if err != nil {
		t.Fatal(err)
	}
	w := []refund.Wakeup{{RefundRef: refund.RefundRef{Tenant: 7, RID: refund.RID{1, 2, 3}}}, {RefundRef: refund.RefundRef{Tenant: 7, RID: refund.RID{4}},
		Generation: 3}, {RefundRef: refund.RefundRef{Tenant: 7}, PaymentID: "pay_\"1"}}
	conn, err := pgx.ConnectConfig(t.Context(), b.pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows := func(insert func(pgx.Tx) error) (out []string) {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
		if err := insert(tx); err != nil {
			t.Fatal(err)
		}
		list, err := tx.Query(t.Context(), `SELECT (to_jsonb(j) - ARRAY['id', 'created_at', 'scheduled_at'])::text
			|| (j.scheduled_at <= clock_timestamp() AND j.created_at > clock_timestamp() - interval '1 min' AND j.scheduled_at > clock_timestamp() - interval '1 min')
			FROM refundry.river_job j ORDER BY id`)
		if err != nil {
			t.Fatal(err)
		}
		if out, err = pgx.CollectRows(list, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
		return out
	}
	rivers := rows(func(tx pgx.Tx) error { return e.EnqueueTx(t.Context(), tx, w) })
	ours := rows(func(tx pgx.Tx) error {
		p := &pgx.Batch{}
		queues, err := e.QueueJobs(p, w)
		if !slices.Equal(queues, []string{"refunds", "default"}) {
			t.Errorf("queues %v", queues)
		}
		if err != nil {
			return err
		}
		return tx.SendBatch(t.Context(), p).Close()
	})
	if len(rivers) != 3 || !slices.Equal(ours, rivers) {
		t.Errorf("in a pipeline\n%v\nby River\n%v", ours, rivers)
	}
	p := &pgx.Batch{}
	if queues, err := e.QueueJobs(p, nil); err != nil || len(queues) != 0 || p.Len() != 0 {
		t.Errorf("nothing to do, but %v %v %d", queues, err, p.Len())
	}
}

// TestAnnounceIsRiversMessage listens as River's fetchers do.
func TestAnnounceIsRiversMessage(t *testing.T) {
	b := newBench(t, testContract())
	e, err := NewEnqueuer("")
	if err != nil {
		t.Fatal(err)
	}
	listen := func(tell func(conn *pgx.Conn) error) (channel, payload string) {
		conn, err := pgx.ConnectConfig(t.Context(), b.pool.Config().ConnConfig)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
		if _, err := conn.Exec(t.Context(), `LISTEN "refundry.river_insert"`); err != nil {
			t.Fatal(err)
		}
		if err := tell(conn); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n.Channel, n.Payload
	}
	channel, payload := listen(func(conn *pgx.Conn) error { return e.Announce(t.Context(), conn, []string{"refunds"}) })
	riversChannel, riversPayload := listen(func(conn *pgx.Conn) error {
		return pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			return e.EnqueueTx(t.Context(), tx, []refund.Wakeup{{RefundRef: refund.RefundRef{Tenant: 1, RID: refund.RID{9}}}})
		})
	})
	if channel != riversChannel || len(payload) == 0 || compact(payload) != compact(riversPayload) {
		t.Errorf("%s %s, River says %s %s", channel, payload, riversChannel, riversPayload)
	}
}

func compact(s string) string {
	return string(slices.DeleteFunc([]byte(s), func(c byte) bool { return c == ' ' }))
}
