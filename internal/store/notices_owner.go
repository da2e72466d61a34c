package store

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// noticeOwnerSQL is the one answer to "whose is notice n", beside a row n with account, number and channel_refund_id: the dispatch with
// the number that it names, else, where it names none, who knows the channel's id in this account. An effect comes first whose number
// was named by the channel itself; then the number that was told the id; last an effect that has its id from a line alone, which is a
// good guess. An id that the channel told for numbers of two refunds points at neither: only an effect tells them apart.
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

// noticeTargetSQL finds the dispatch that a notice speaks of. $1 account, $2 number, $3 the channel's id.
const noticeTargetSQL = `SELECT o.tenant_id, o.rid, o.no FROM (SELECT $1::text AS account, $2::text AS number, $3::text AS channel_refund_id) n, ` +
	noticeOwnerSQL

// keptNoticesSQL finds what was told of these numbers, or of these ids by notices that name no number. Every refund's end asks it, and
// nearly always nothing is there, so whose they are is asked only of what it finds. $1 account, $2 numbers, $3 the channel's ids.
var keptNoticesSQL = `SELECT ` + noticeColumns + ` FROM notices n WHERE n.account = $1 AND n.rid IS NULL AND n.number = ANY($2::text[])
  UNION ALL
  SELECT ` + noticeColumns + ` FROM notices n
    WHERE n.account = $1 AND n.rid IS NULL AND n.number IS NULL AND n.channel_refund_id = ANY($3::text[])
  LIMIT 32`

// anyKeptNoticeSQL is asked by every group of intakes; nearly always nothing is waiting.
const anyKeptNoticeSQL = `SELECT EXISTS (SELECT FROM notices n WHERE n.rid IS NULL AND n.number IS NOT NULL)`

// matchableSQL finds kept notices whose refund is there after all. $1 limit, $2 keys to pass over.
var matchableSQL = `SELECT ` + noticeColumns + `, o.tenant_id, o.rid, o.no
  FROM notices n, ` + noticeOwnerSQL + ` WHERE n.rid IS NULL AND n.digest <> ALL($2::bytea[]) LIMIT $1`

// A notice that names only the channel's id, and the transaction that stores this id, may not see each other: each looks before the
// other commits, and the notice would wait for the housekeeping although everything is there. A channel that tells its notice at the
// moment of its answer makes this an everyday case. So both take a lock named after account and id before they look: the notice alone,
// whoever stores the id beside others like it. Whoever comes second sees the first one's COMMIT. The lock ends with its transaction,
// whatever happens to the process, and it costs the storing side one more statement in a pipeline that it sends anyway. No circle can
// form: a notice that holds it takes no refund's lock (when it finds a refund it lets go and begins anew), and stored ids only share.
const (
	lockIDAloneSQL   = `SELECT pg_advisory_xact_lock($1)`
	lockIDsSharedSQL = `SELECT pg_advisory_xact_lock_shared(k) FROM unnest($1::bigint[]) AS u(k)`
)

// lockChannelID is a kind of advisory key, of no tenant: two tenants may share an account.
const lockChannelID = "channel-refund"

func (s *Store) channelIDKey(account, id string) int64 {
	return s.advisory(lockChannelID, 0, account+"\x00"+id)
}

// named is what a change names for the first time: numbers that it makes, and channel refund ids that it gives to a number or to an
// effect of the refund.
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

// keptNotices queues the look for notices that waited for what this change names. It costs no round trip. Two kinds of changes leave
// what they name to MatchNotices: a payment's lines, whose transaction goes on with what it has read of all its refunds, and a
// decision whose case stays open, since any fact of that refund voids what is being decided.
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
