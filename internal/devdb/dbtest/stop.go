package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/refundry/refundry/internal/devdb"
)

// StopShared drops what killed tests have left on the shared server, and its
// templates, and stops it. While any test process uses the server it does nothing.
// The text says what was done.
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

// dropAndStop starts the server when it is down, since what a crash has left is
// to go too: the folder does not grow from run to run. Alone with the server, it
// is the owner, so its Stop ends it.
func dropAndStop(ctx context.Context) (int, error) {
	db, err := devdb.Start(ctx, devdb.Config{Dir: SharedDir(), Settings: settings, StartTimeout: patience})
	if err != nil {
		return 0, err
	}
	s := &shared{db: db}
	dropped, err := s.drop(ctx, time.Now().Add(time.Hour))
	return dropped, errors.Join(err, db.Stop(ctx))
}
