package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refundry/refundry/internal/refund"
)

// Translate turns a driver error into a class of package refund, by SQLSTATE and type, never by text. An error of no class comes back
// unchanged.
func Translate(err error) error {
	if err == nil || classified(err) {
		return err
	}
	var pg *pgconn.PgError
	var dial *pgconn.ConnectError
	var netErr net.Error
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%w: %w", refund.ErrNotFound, err)
	case errors.As(err, &pg):
		return translateState(pg, err)
	case errors.As(err, &dial), errors.As(err, &netErr), errors.Is(err, context.DeadlineExceeded), brokenConnection(err):
		return fmt.Errorf("%w: %w", refund.ErrUnavailable, err)
	}
	return err
}

func translateState(pg *pgconn.PgError, err error) error {
	switch {
	case pg.Code == "55P03": // lock_not_available
		return fmt.Errorf("%w: %w", refund.ErrBusy, err)
	case unavailable(pg.Code):
		return fmt.Errorf("%w: %w", refund.ErrUnavailable, err)
	case strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23"):
		name := pg.ConstraintName
		if name == "" {
			name = "sqlstate-" + pg.Code
		}
		return &refund.GuardError{Guard: name, Err: err}
	}
	return err
}

// unavailable reports errors of the server's condition and not of the statement: connection exceptions (08), shutdown and start-up
// (57P0x), a full server or disk (53), errors of its files (58), serialization failures and deadlocks (40), a canceled statement (57014), a
// server that only reads, as after a failover (25006), and a transaction that the server has ended for its length (25P03, 25P04).
func unavailable(code string) bool {
	switch code {
	case "57014", stateReadOnly, "25P03", "25P04":
		return true
	}
	for _, class := range []string{"08", "57P0", "53", "58", "40"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

const stateReadOnly = "25006" // read_only_sql_transaction

// IsReadOnly reports that the server refused a write because it only reads: a standby, or a primary that was made one.
func IsReadOnly(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == stateReadOnly
}

// IsDenied reports that the role lacks a privilege.
func IsDenied(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == "42501"
}

func classified(err error) bool {
	for _, c := range []error{refund.ErrUnavailable, refund.ErrCommitUnknown, refund.ErrNotOwner, refund.ErrNotFound, refund.ErrBusy, refund.ErrBadData} {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

// CommitError classifies an error of COMMIT. Only a PgError outside classes 08, 57P0x and 40003 proves that nothing was committed. Any
// other error is refund.ErrCommitUnknown, even if the driver calls it safe to retry.
func CommitError(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return err
	case errors.As(err, &pg) && pg.Code != "40003" && !strings.HasPrefix(pg.Code, "08") && !strings.HasPrefix(pg.Code, "57P0"):
		return Translate(err)
	}
	return fmt.Errorf("%w: %w", refund.ErrCommitUnknown, err)
}

// Constraint returns the SQLSTATE and constraint name of an integrity error, and "" for any other error.
func Constraint(err error) (code, name string) {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && strings.HasPrefix(pg.Code, "23") {
		return pg.Code, pg.ConstraintName
	}
	return "", ""
}

// IsMissingRelation reports undefined_table and invalid_schema_name.
func IsMissingRelation(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && (pe.Code == "42P01" || pe.Code == "3F000")
}

// IsMissingColumn reports undefined_column: a migration is missing.
func IsMissingColumn(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == "42703"
}

// brokenConnection reports errors of a lost connection.
func brokenConnection(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed) || pgconn.Timeout(err)
}
