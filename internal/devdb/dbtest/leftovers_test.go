package dbtest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestLeftoversAreDropped checks that databases of killed tests are dropped after two hours, and newer ones are not.
func TestLeftoversAreDropped(t *testing.T) {
	t.Parallel()
	s := server(t)
	now := time.Now()
	old, fresh := databaseName(now.Add(-3*time.Hour)), databaseName(now)
	for _, name := range []string{old, fresh} {
		if err := s.exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(patience)
	for exists(t, s, old) { // while another process drops databases, this one does nothing
		if time.Now().After(deadline) {
			t.Fatal("a database of three hours ago is still there")
		}
		if _, err := s.drop(t.Context(), now.Add(-leftoverAge)); err != nil {
			t.Fatal(err)
		}
	}
	if !exists(t, s, fresh) {
		t.Error("a database of now was dropped")
	}
	if err := s.exec(t.Context(), "DROP DATABASE "+fresh); err != nil {
		t.Fatal(err)
	}
}

func exists(t *testing.T, s *shared, name string) (there bool) {
	t.Helper()
	err := s.with(t.Context(), func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there)
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}
