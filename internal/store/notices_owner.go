package store

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// noticeOwnerSQL finds the dispatch of a notice n, which has account, number and channel_refund_id. A notice with a number belongs to the
// dispatch with that number. Of a notice with the channel's id alone it returns, in this order: the effect with the id whose dispatch got
// the id from the channel itself; the dispatch that got the id from the channel; an effect that has the id from a line, which is a good
// guess. An id that the channel gave to dispatches of two refunds identifies neither; only an effect tells them apart.
const noticeOwnerSQL = `LATERAL (
    SELECT d.tenant_id, d.rid, d.no, 1 AS rank FROM dispatches d WHERE d.account = n.account AND d.number = n.number
    UNION ALL
    SELECT e.tenant_id, e.rid, e.dispatch_no, CASE WHEN EXISTS (SELECT FROM dispatches t
        WHERE (t.tenant_id, t.rid, t.no) = (e.tenant_id, e.rid, e.dispatch_no) AND t.channel_refund_id IS NOT NULL) THEN 2 ELSE 4 END
      FROM effects e WHERE n.number IS NULL AND e.account = n.account AND e.channel_refund_id = n.channel_refund_id AND e.status <> 'DROPPED'
      AND e.rid IS NOT NULL
    UNION ALL
    SELECT d.tenant_id, d.rid, d.no, 3 FROM dispatches d
      WHERE n.number IS NULL AND d.account = n.account AND d.channel_refund_id = n.channel_refund_id
        AND NOT EXISTS (SELECT FROM dispatches x WHERE x.account = d.account AND x.channel_refund_id = d.channel_refund_id AND (x.tenant_id,
        x.rid) <> (d.tenant_id, d.rid))
    ORDER BY rank LIMIT 1) o`

// noticeTargetSQL finds the dispatch that a notice names. $1 account, $2 number, $3 the channel's id.
const noticeTargetSQL = `SELECT o.tenant_id, o.rid, o.no FROM (SELECT $1::text AS account, $2::text AS number, $3::text AS channel_refund_id) n, ` +
	noticeOwnerSQL

// keptNoticesSQL finds kept notices with these numbers, or with these ids and no number. Every final state runs it and it nearly always
// returns nothing, so the owner is looked up only for the rows that it finds. $1 account, $2 numbers, $3 the channel's ids.
var keptNoticesSQL = `SELECT ` + noticeColumns + ` FROM notices n WHERE n.account = $1 AND n.rid IS NULL AND n.ended_at IS NULL AND n.number = ANY($2::text[])
  UNION ALL
  SELECT ` + noticeColumns + ` FROM notices n
    WHERE n.account = $1 AND n.rid IS NULL AND n.ended_at IS NULL AND n.number IS NULL AND n.channel_refund_id = ANY($3::text[])
  LIMIT 32`

// noticedNumbersSQL runs for every group of intakes: it returns those of the group's numbers ($1) for which notices were kept, nearly always
// none. Kept notices of other numbers, such as those of another system's refunds, do not slow a group down.
const noticedNumbersSQL = `SELECT DISTINCT n.number FROM notices n WHERE n.rid IS NULL AND n.ended_at IS NULL AND n.number = ANY($1::text[])`

// matchableSQL finds kept notices whose refund exists. $1 limit, $2 digests to leave out.
var matchableSQL = `SELECT ` + noticeColumns + `, o.tenant_id, o.rid, o.no
  FROM notices n, ` + noticeOwnerSQL + ` WHERE n.rid IS NULL AND n.ended_at IS NULL AND n.unread IS NULL AND n.digest <> ALL($2::bytea[]) LIMIT $1`

// A notice with the channel's id alone, and the transaction that stores this id, may miss each other: each reads before the other commits,
// and the notice would wait for the housekeeping. Channels that send the notice together with the answer make this common. So both take an
// advisory lock of account and id before they read: the notice exclusively, the storing transaction shared. The second one sees the commit
// of the first. The lock ends with its transaction, and costs the storing side one more statement in its pipeline. No deadlock can arise:
// a notice with this lock waits for no refund's lock (it rolls back and starts again), and shared locks do not exclude each other.
const (
	lockIDAloneSQL   = `SELECT pg_advisory_xact_lock($1)`
	lockIDsSharedSQL = `SELECT pg_advisory_xact_lock_shared(k) FROM unnest($1::bigint[]) AS u(k)`
)

// lockChannelID is a kind of advisory key without a tenant: two tenants may share an account.
const lockChannelID = "channel-refund"

func (s *Store) channelIDKey(account, id string) int64 {
	return s.advisory(lockChannelID, 0, account+"\x00"+id)
}

// named returns what a change names for the first time: numbers of new dispatches, and channel refund ids of dispatches and of the
// refund's effects.
func named(ch *refund.Change) (numbers, ids []string) {
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	before := ch.Before.Dispatches
	for i, d := range ch.After.Dispatches {
		switch {
		case i >= len(before):
			numbers = append(numbers, d.Number)
			add(d.ChannelRefundID)
		case d.ChannelRefundID != before[i].ChannelRefundID:
			add(d.ChannelRefundID)
		}
	}
	for _, e := range ch.After.Effects {
		if e.Ours && e.ChannelRefundID != "" && !slices.ContainsFunc(ch.Before.Effects, func(b refund.Effect) bool {
			return b.ID == e.ID && b.Ours && b.ChannelRefundID == e.ChannelRefundID
		}) {
			add(e.ChannelRefundID)
		}
	}
	return numbers, ids
}

// keptNotices queues the search for notices that waited for a number or id of this change; it costs no round trip. Two kinds of changes
// leave them to MatchNotices: a payment's lines, whose transaction goes on with the records that it has read, and a decision whose case
// stays open, because any fact of that refund would void it.
func (s *Store) keptNotices(w *changeWriter) {
	numbers, ids := named(w.ch)
	ofLines := w.f.Kind == refund.LineSettled
	undecided := w.f.Source == sourceDecision && w.ch.After.Case != nil
	if len(numbers)+len(ids) == 0 || ofLines || undecided {
		return
	}
	if len(ids) > 0 {
		keys := make([]int64, len(ids))
		for i, id := range ids {
			keys[i] = s.channelIDKey(w.ch.After.Account, id)
		}
		w.any(lockIDsSharedSQL, keys)
	}
	w.b.Queue(keptNoticesSQL, w.ch.After.Account, numbers, ids).Query(func(rows pgx.Rows) (err error) {
		w.kept, err = pgx.CollectRows(rows, scanKept)
		return err
	})
}
