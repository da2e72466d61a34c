package dbtest

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// leftoverAge is far more than any test run takes: what is older belongs to tests
// that were killed, or to test binaries that are no more.
const leftoverAge = 2 * time.Hour

// leftovers finds the databases made before a time: those of tests tell it in
// their name, finished templates in their comment, a template under construction
// ends with _new and is looked after by its next builder.
const leftovers = `
SELECT datname FROM pg_database
WHERE (datname LIKE 't\_%' AND split_part(datname, '_', 2) < $1)
   OR (datname LIKE 'tpl\_%' AND shobj_description(oid, 'pg_database') < $1)`

// drop removes the databases made before a time and counts them. Only one
// process at a time does so; for the others there is nothing to do.
func (s *shared) drop(ctx context.Context, before time.Time) (int, error) {
	dropped := 0
	err := s.with(ctx, func(conn *pgx.Conn) error {
		var alone bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtext('dbtest.drop'))").Scan(&alone); err != nil || !alone {
			return err
		}
		rows, err := conn.Query(ctx, leftovers, fmt.Sprintf("%010d", before.Unix()))
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, name := range names {
			// IF EXISTS: a test that runs for long may end just now.
			if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
				return err
			}
			dropped++
		}
		return nil
	})
	return dropped, err
}
