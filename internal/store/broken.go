package store

import (
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgconn"
)

// brokenConnection says whether an error means that the connection is gone.
func brokenConnection(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed) || pgconn.Timeout(err)
}
