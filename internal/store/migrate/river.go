package migrate

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/refundry/refundry/internal/fault"
)

// riverStep is one of our steps that brings River's tables to a fixed version of River's main line. The version is pinned so that a
// newer module never changes tables by itself: an upgrade of the module is a new step here.
type riverStep struct {
	step  int64 // our number, unique among the SQL files
	river int   // River's
}

// riverSteps lists them in order.
func riverSteps() []riverStep {
	return []riverStep{{step: 8, river: 8}}
}

// migration is not transactional: River applies each of its versions in a transaction of its own. A crash in between is picked up by
// the next run, which applies only what is missing.
func (s riverStep) migration(pool *pgxpool.Pool, cfg Config) *goose.Migration {
	run := func(ctx context.Context, _ *sql.DB) error {
		migrator, err := newRiverMigrator(pool, cfg)
		if err != nil {
			return err
		}
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: s.river})
		if err != nil {
			return fmt.Errorf("river version %d: %w", s.river, err)
		}
		fault.Point(fault.MigrateRiver)
		return nil
	}
	return goose.NewGoMigration(s.step, &goose.GoFunc{RunDB: run}, nil)
}

func newRiverMigrator(pool *pgxpool.Pool, cfg Config) (*rivermigrate.Migrator[pgx.Tx], error) {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: cfg.Schema, Logger: cfg.Logger})
	if err != nil {
		return nil, fmt.Errorf("river migrator: %w", err)
	}
	return migrator, nil
}
