package store

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/store/pg"
)

const (
	// writableFor is how long the result of a write probe that succeeded is used, and unwritableFor that of one that failed.
	writableFor   = 10 * time.Second
	unwritableFor = time.Second
	// writeProbeTime bounds a write probe.
	writeProbeTime = 2 * time.Second
	// sqlWriteProbe needs a new file and a page on the disk of the database, and a COMMIT. It leaves nothing behind.
	sqlWriteProbe = `CREATE TEMPORARY TABLE refundry_write_probe ON COMMIT DROP AS SELECT 1 AS n`
)

// writeProbe has the result of the last write probe.
type writeProbe struct {
	mu    sync.Mutex
	until time.Time // the result is used until then
	err   error
}

// CheckWritable checks that the database takes writes: it is no standby, and its disk is not full. It asks the database at most once in 10
// seconds, or once in a second after a failure; between two questions it returns the last result. A role that may not create temporary
// tables passes, unless the server only reads. When the server only reads, the pool replaces its connections and it asks once more, because
// the URL may lead to another server meanwhile. Errors: refund.ErrUnavailable.
func (s *Store) CheckWritable(ctx context.Context) error {
	p := &s.writeProbe
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.until) {
		return p.err
	}
	probe, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeProbeTime) // the result is also that of other callers
	defer cancel()
	_, err := s.pool.Exec(probe, sqlWriteProbe, pgx.QueryExecModeSimpleProtocol)
	if pg.IsReadOnly(err) { // new connections may reach another server
		s.pool.Reset()
		_, err = s.pool.Exec(probe, sqlWriteProbe, pgx.QueryExecModeSimpleProtocol)
	}
	if pg.IsDenied(err) {
		err = nil
	}
	p.err, p.until = pg.Translate(err), time.Now().Add(writableFor)
	if err != nil {
		p.until = time.Now().Add(unwritableFor)
	}
	return p.err
}
