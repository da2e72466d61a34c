package dbtest

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// leftoverAge is much longer than any test run: older databases belong to killed tests or to old test binaries.
const leftoverAge = 2 * time.Hour

// leftovers selects the databases created before a time. Those of tests have it in their name, finished templates in their
// comment. A template under construction ends with _new and is dropped by its next builder.
const leftovers = `
SELECT datname FROM pg_database
WHERE (datname LIKE 't\_%' AND split_part(datname, '_', 2) < $1)
   OR (datname LIKE 'tpl\_%' AND shobj_description(oid, 'pg_database') < $1)`

// drop drops the databases created before a time and returns their number. Only one process does so at a time; for the
// others it returns 0.
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
			// IF EXISTS, since a long test may end at this moment.
			if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
				return err
			}
			dropped++
		}
		return nil
	})
	return dropped, err
}
