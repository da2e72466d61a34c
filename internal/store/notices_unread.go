package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

const (
	keepUnreadSQL = `INSERT INTO notices (account, digest, headers, body, unread) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT ON CONSTRAINT notices_pk DO UPDATE SET times_seen = notices.times_seen + 1
  RETURNING ended_at IS NULL`
	unreadNoticesSQL = `SELECT n.account, n.digest, n.headers, n.body, n.unread, n.times_seen, n.at FROM notices n
  WHERE n.unread IS NOT NULL AND n.ended_at IS NULL AND (n.account, n.digest) > ($1, $2) ORDER BY n.account, n.digest LIMIT $3`
	endUnreadSQL = `UPDATE notices SET ended_at = now(), ended_as = $3 WHERE account = $1 AND digest = $2 AND unread IS NOT NULL AND ended_at IS NULL`
	// endUnmatchedSQL ends the wait of a page of notices. $1 seconds, $2 limit.
	endUnmatchedSQL = `UPDATE notices SET ended_at = now(), ended_as = 'unmatched' WHERE (account, digest) IN (
    SELECT n.account, n.digest FROM notices n WHERE n.rid IS NULL AND n.ended_at IS NULL AND n.unread IS NULL AND n.at < now() - make_interval(secs => $1)
    ORDER BY n.at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED) AND rid IS NULL`
)

// longestReason bounds the stored reason why a notice cannot be read.
const longestReason = 500

// KeepUnread stores a notice with a valid signature that cannot be read, or counts a repeat of it. open is false once it was read by a
// later version or dismissed: then the channel need not repeat it any more. Errors: ErrBusy, ErrUnavailable.
func (s *Store) KeepUnread(ctx context.Context, n refund.UnreadNotice) (open bool, err error) {
	err = pg.Rerun(ctx, s.log, "unread notice of account "+n.Account, func() error {
		return pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
			return tx.QueryRow(ctx, keepUnreadSQL, n.Account, n.Digest[:], storableHeaders(n.Headers), n.Body, bounded(n.Reason, longestReason)).Scan(&open)
		})
	})
	return open, err
}

// UnreadNotices returns the unread notices after the one with this account and digest, in this order, at most limit. Errors: ErrUnavailable.
func (s *Store) UnreadNotices(ctx context.Context, account string, digest [32]byte, limit int) ([]refund.UnreadNotice, error) {
	rows, err := s.pool.Query(ctx, unreadNoticesSQL, account, digest[:], limit)
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n refund.UnreadNotice, err error) {
		var digest []byte
		err = row.Scan(&n.Account, &digest, &n.Headers, &n.Body, &n.Reason, &n.TimesSeen, &n.FirstAt)
		copy(n.Digest[:], digest) // 32 bytes by constraint
		return n, err
	})
	return out, pg.Translate(err)
}

// EndUnread ends an unread notice: its sender need not repeat it, and it is not listed any more. Errors: ErrNotFound, ErrBusy,
// ErrUnavailable.
func (s *Store) EndUnread(ctx context.Context, account string, digest [32]byte, as refund.UnreadEnd) error {
	var ended bool // by a run whose COMMIT was not answered, perhaps
	err := pg.Rerun(ctx, s.log, "unread notice of account "+account, func() error {
		return pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, endUnreadSQL, account, digest[:], string(as))
			ended = ended || tag.RowsAffected() == 1
			return err
		})
	})
	if err == nil && !ended {
		return refund.ErrNotFound
	}
	return err
}

// EndUnmatched ends the wait of notices that came longer ago than age and that no refund has matched: they are about refunds that other
// systems made at the account. Their rows stay. It returns how many it ended. Errors: ErrBusy, ErrUnavailable.
func (s *Store) EndUnmatched(ctx context.Context, age time.Duration) (int, error) {
	all := 0
	for {
		var n int64
		err := pg.Rerun(ctx, s.log, "end of unmatched notices", func() error {
			return pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
				tag, err := tx.Exec(ctx, endUnmatchedSQL, age.Seconds(), matchPage)
				n = tag.RowsAffected()
				return err
			})
		})
		if all += int(n); err != nil || n < matchPage {
			return all, err
		}
	}
}
