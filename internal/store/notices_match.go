package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// mostMatches bounds what one transaction takes in; what is left is matched by MatchNotices.
const mostMatches = 32

// keptNoticesSQL finds what was told of these numbers, or of these ids by notices that name no number.
const keptNoticesSQL = `SELECT n.notice_key, n.number, n.fact FROM notices n WHERE n.account = $1 AND n.rid IS NULL AND n.number = ANY($2::text[])
  UNION ALL
  SELECT n.notice_key, n.number, n.fact FROM notices n
    WHERE n.account = $1 AND n.rid IS NULL AND n.number IS NULL AND n.channel_refund_id = ANY($3::text[])
  LIMIT 32`

// anyKeptSQL is asked by every group of intakes; nearly always nothing is waiting.
const anyKeptSQL = `SELECT EXISTS (SELECT FROM notices n WHERE n.rid IS NULL AND n.number IS NOT NULL)`

// matchableSQL finds kept notices whose dispatch or effect is there after all.
const matchableSQL = `SELECT n.account, n.notice_key, n.number, n.channel_refund_id, n.fact, d.tenant_id, d.rid, d.no
    FROM notices n JOIN dispatches d ON d.account = n.account AND d.number = n.number WHERE n.rid IS NULL
  UNION ALL
  SELECT n.account, n.notice_key, n.number, n.channel_refund_id, n.fact, e.tenant_id, e.rid, e.dispatch_no
    FROM notices n JOIN effects e ON e.account = n.account AND e.channel_refund_id = n.channel_refund_id AND e.status <> 'DROPPED' AND e.rid IS NOT NULL
    WHERE n.rid IS NULL AND n.number IS NULL
  LIMIT $1`

// keptRow is a notice that was kept until its refund was there.
type keptRow struct {
	key    [32]byte
	number string
	fact   noticeFact
}

func (k keptRow) notice() refund.Notice {
	return refund.Notice{Key: k.key, Number: k.number, ChannelRefundID: k.fact.ChannelRefundID, Status: k.fact.Status, Amount: k.fact.Amount,
		Currency: k.fact.Currency, Code: k.fact.Code}
}

// named is what a change names for the first time: numbers that it makes, and channel refund ids that it stores.
func named(ch *refund.Change) (numbers, ids []string) {
	before := ch.Before.Dispatches
	for i, d := range ch.After.Dispatches {
		switch {
		case i >= len(before):
			numbers = append(numbers, d.Number)
		case d.ChannelRefundID != "" && d.ChannelRefundID != before[i].ChannelRefundID:
			ids = append(ids, d.ChannelRefundID)
		}
	}
	return numbers, ids
}

// keptNotices queues the look for notices that waited for what this change names. It costs no round trip.
func (w *writing) keptNotices() {
	numbers, ids := named(w.ch)
	if len(numbers)+len(ids) == 0 {
		return
	}
	w.b.Queue(keptNoticesSQL, w.ch.After.Account, numbers, ids).Query(func(rows pgx.Rows) (err error) {
		w.kept, err = pgx.CollectRows(rows, scanKept)
		return err
	})
}

func scanKept(row pgx.CollectableRow) (keptRow, error) {
	var k keptRow
	var key []byte
	var number *string
	var fact []byte
	if err := row.Scan(&key, &number, &fact); err != nil {
		return k, err
	}
	copy(k.key[:], key) // 32 bytes by constraint
	k.number = deref(number)
	return k, json.Unmarshal(fact, &k.fact)
}

// matchKept enters kept notices into the refund that tx holds locked. The record is read anew for each.
func (s *Store) matchKept(ctx context.Context, tx pgx.Tx, k refund.Key, kept []keptRow) error {
	for _, n := range kept {
		r, err := s.readAgain(ctx, tx, k)
		if err != nil {
			return err
		}
		if tied, err := tieNotice(ctx, tx, r.Account, n.key, k); err != nil || !tied {
			if err != nil {
				return err
			}
			continue // a notice before it, in this transaction, has brought it along
		}
		f, says := n.notice().Fact(dispatchOf(r, n))
		if _, err := s.enterNotice(ctx, tx, r, f, says); err != nil {
			return err
		}
		s.log.InfoContext(ctx, "a notice that came early has found its refund", "rid", k.RID.String(), "status", string(n.fact.Status))
	}
	return nil
}

// dispatchOf is the dispatch that the notice names: by number, else by the channel's id.
func dispatchOf(r refund.Record, n keptRow) int {
	for _, d := range r.Dispatches {
		if d.Number == n.number || n.number == "" && d.ChannelRefundID == n.fact.ChannelRefundID {
			return d.No
		}
	}
	return r.DispatchNo
}

// readAgain reads the record inside a transaction that holds the refund.
func (s *Store) readAgain(ctx context.Context, tx pgx.Tx, k refund.Key) (refund.Record, error) {
	var rec refund.Record
	b := &pgx.Batch{}
	s.queueRecord(b, k, lockPaymentSQL, &rec)
	err := tx.SendBatch(ctx, b).Close()
	return rec, err
}

// matchGroup enters notices that waited for the numbers of new refunds, before their transaction commits.
func (s *Store) matchGroup(ctx context.Context, tx pgx.Tx, made []refund.NewRefund) error {
	for _, r := range made {
		rows, err := tx.Query(ctx, keptNoticesSQL, r.Account, []string{r.Number}, []string{})
		if err != nil {
			return err
		}
		kept, err := pgx.CollectRows(rows, scanKept)
		if err != nil {
			return err
		}
		if err := s.matchKept(ctx, tx, r.Key, kept); err != nil {
			return err
		}
	}
	return nil
}

// MatchNotices looks through kept notices for those whose refund is there, and enters them: two transactions that did not
// see each other may have left some. It returns how many were entered. Errors: ErrBusy, ErrUnavailable.
func (s *Store) MatchNotices(ctx context.Context) (int, error) {
	rows, err := s.pool.Query(ctx, matchableSQL, mostMatches)
	if err != nil {
		return 0, translate(err)
	}
	type found struct {
		keptRow
		account string
		noticeTarget
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (found, error) {
		var f found
		var key, fact []byte
		var number, id *string
		var tenant int64
		var rid [16]byte
		if err := row.Scan(&f.account, &key, &number, &id, &fact, &tenant, &rid, &f.dispatch); err != nil {
			return f, err
		}
		copy(f.key[:], key)
		f.number, f.Tenant, f.RID = deref(number), refund.TenantID(tenant), rid
		return f, json.Unmarshal(fact, &f.fact)
	})
	if err != nil {
		return 0, translate(err)
	}
	done := 0
	for _, f := range list {
		err := s.withRecord(ctx, f.Key, func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
			if tied, err := tieNotice(ctx, tx, f.account, f.key, f.Key); err != nil || !tied {
				return err
			}
			fact, says := f.notice().Fact(f.dispatch)
			_, err := s.enterNotice(ctx, tx, r, fact, says)
			return err
		})
		if err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}
