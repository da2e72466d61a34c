package pg

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refundry/refundry/internal/refund"
)

// An error of the server's condition says nothing about the request: it is tried later, and nobody counts it against a message.
func TestErrorsOfTheServersConditionAreUnavailable(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"25006", "25P03", "25P04", "53000", "53100", "53200", "53300", "53400", "58000", "58030", "58P01", "58P02",
		"08006", "57P01", "57P05", "57014", "40001", "40P01"} {
		if err := Translate(&pgconn.PgError{Code: code}); !errors.Is(err, refund.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", code, err)
		}
		if err := CommitError(&pgconn.PgError{Code: code}); !errors.Is(err, refund.ErrUnavailable) && !errors.Is(err, refund.ErrCommitUnknown) {
			t.Errorf("%s at COMMIT: %v, want ErrUnavailable or ErrCommitUnknown", code, err)
		}
	}
	for _, code := range []string{"25001", "25P02", "42501", "42P01", "55000", "0A000", "XX000"} {
		if err := Translate(&pgconn.PgError{Code: code}); errors.Is(err, refund.ErrUnavailable) {
			t.Errorf("%s: %v, want an error that is no outage", code, err)
		}
	}
}
