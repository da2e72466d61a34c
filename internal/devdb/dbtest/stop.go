package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/refundry/refundry/internal/devdb"
)

// StopShared drops the databases that killed tests left on the shared server, and its templates, and stops the server. It
// does nothing while a test process uses the server. The text says what was done.
func StopShared(ctx context.Context) (did string, err error) {
	if _, err := os.Stat(SharedDir()); errors.Is(err, os.ErrNotExist) {
		return "no PostgreSQL for tests has run yet", nil
	}
	if err := ownFolder(SharedDir()); err != nil {
		return "", err
	}
	alone, err := devdb.TryLock(usersLock(), false)
	if errors.Is(err, devdb.ErrLocked) {
		return "the PostgreSQL for tests is in use and stays", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, alone.Release()) }()

	begin := time.Now()
	dropped, err := dropAndStop(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the PostgreSQL for tests stopped, %d databases dropped, %s",
		dropped, time.Since(begin).Round(time.Millisecond)), nil
}

// dropAndStop starts the server if it is stopped, to drop what a crash has left, so that the folder does not grow from run
// to run. Without other users it is the owner, so its Stop ends the server.
func dropAndStop(ctx context.Context) (int, error) {
	db, err := devdb.Start(ctx, devdb.Config{Dir: SharedDir(), Settings: settings, StartTimeout: patience})
	if err != nil {
		return 0, err
	}
	s := &shared{db: db}
	dropped, err := s.drop(ctx, time.Now().Add(time.Hour))
	return dropped, errors.Join(err, db.Stop(ctx))
}
