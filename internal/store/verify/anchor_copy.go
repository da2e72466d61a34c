package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
)

// ErrFileAhead reports that the anchor file has anchors that the database does not have, and no later agreement explains it: the database
// was restored, or its history was changed.
var ErrFileAhead = errors.New("store: the anchor file has anchors that the database does not have: it was restored or changed")

const newAnchorsSQL = `SELECT upto_pos, rows, hash, signature, at FROM journal_anchors WHERE upto_pos > $1 ORDER BY upto_pos`

// common is the last position at which file and database have the same anchor.
func (a *Anchorer) common(ctx context.Context, have *anchorFile) (pos int64, err error) {
	for i := len(have.anchors) - 1; i >= 0; i-- {
		l := have.anchors[i]
		var same bool
		if err := a.cfg.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM journal_anchors WHERE upto_pos = $1 AND hash = $2)`, l.UptoPos,
			[]byte(l.Hash)).Scan(&same); err != nil {
			return 0, pg.Translate(err)
		}
		if same {
			return l.UptoPos, nil
		}
	}
	return 0, nil
}

// comparison is the file beside the database.
type comparison struct {
	file *anchorFile
	now  pg.Sighting
	kept int64 // the last position at which both have the same anchor
}

// later reports that the installation has agreed to this database after the file's last line.
func (c comparison) later() bool {
	return c.now.Epoch > c.file.epoch || !c.file.seen.AgreedAt.IsZero() && c.now.AgreedAt.After(c.file.seen.AgreedAt)
}

func (a *Anchorer) compare(ctx context.Context) (c comparison, err error) {
	if c.file, err = readAnchorFile(a.cfg.File); err != nil {
		return c, err
	}
	if c.now, err = pg.See(ctx, a.cfg.Pool); err != nil {
		return c, pg.Translate(err)
	}
	if c.kept, err = a.common(ctx, c.file); err != nil {
		return c, err
	}
	if c.kept != c.file.upto() && !c.later() {
		return c, fmt.Errorf("%w: %s, behind position %d", ErrFileAhead, a.cfg.File, c.kept)
	}
	return c, nil
}

// Seen returns how far the database was by the file, the zero Sighting without a file or without a line of this installation. Errors: a file
// that cannot be read; ErrFileAhead, also with a Sighting; refund.ErrUnavailable.
func (a *Anchorer) Seen(ctx context.Context) (pg.Sighting, error) {
	if a.cfg.File == "" {
		return pg.Sighting{}, nil
	}
	c, err := a.compare(ctx)
	if c.file == nil || !c.file.of(a.installation) {
		return pg.Sighting{}, err
	}
	return c.file.seen, err
}

// copyToFile appends the anchors that the file lacks, and how far the database is. While the file is ahead of the database nothing is
// appended; the next epoch states which anchors still hold.
func (a *Anchorer) copyToFile(ctx context.Context) error {
	if a.cfg.File == "" {
		return nil
	}
	c, err := a.compare(ctx)
	if err != nil {
		return err
	}
	var lines []anchorLine
	if c.kept != c.file.upto() {
		lines = append(lines, anchorLine{Installation: a.installation, Epoch: c.now.Epoch, KeptUpTo: &c.kept,
			Signature: a.sign(audit.AnchorEpochStatement(a.installation, c.now.Epoch, c.kept)), At: time.Now().UTC()})
		c.file.keep(c.now.Epoch, c.kept)
	}
	rows, err := a.cfg.Pool.Query(ctx, newAnchorsSQL, c.file.upto())
	if err != nil {
		return pg.Translate(err)
	}
	l := anchorLine{Installation: a.installation, Epoch: c.now.Epoch}
	var hash []byte
	if _, err := pgx.ForEachRow(rows, []any{&l.UptoPos, &l.Rows, &hash, &l.Signature, &l.At}, func() error {
		one := l
		one.Hash, one.Signature = append([]byte(nil), hash...), append([]byte(nil), l.Signature...)
		lines = append(lines, one)
		return nil
	}); err != nil {
		return pg.Translate(err)
	}
	if n := len(lines); n > 0 && !c.now.Standby && !c.now.AgreedAt.IsZero() {
		lines[n-1].Seen = &c.now
	}
	return appendAnchorFile(a.cfg.File, lines)
}
