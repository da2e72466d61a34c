package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// binaryDigest identifies the running test binary by its content. It is computed once per process.
var binaryDigest = sync.OnceValues(func() (digest []byte, err error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
})

// templateName returns a name that is unique for the template and the test binary, within the 63 bytes that PostgreSQL
// allows.
func templateName(name string) (string, error) {
	bin, err := binaryDigest()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(name+"\x00"), bin...))
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	return "tpl_" + clean[:min(len(clean), 24)] + "_" + hex.EncodeToString(sum[:12]), nil
}

// template creates the template database if it is missing and returns its name. The advisory lock lets one process build it
// while the others wait.
func (s *shared) template(ctx context.Context, name string, build func(url string) error) (string, error) {
	tmpl, err := templateName(name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(tmpl))
	key := int64(binary.BigEndian.Uint64(sum[:8]))
	err = s.with(ctx, func(conn *pgx.Conn) error {
		// A session lock ends with the connection, also when this process is killed.
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", key); err != nil {
			return err
		}
		var there bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", tmpl).Scan(&there)
		if err != nil || there {
			return err
		}
		return s.buildTemplate(ctx, conn, tmpl, build)
	})
	return tmpl, err
}

// buildTemplate builds under another name and renames at the end, so that a database with the final name is always
// complete.
func (s *shared) buildTemplate(ctx context.Context, conn *pgx.Conn, tmpl string, build func(url string) error) error {
	draft := tmpl + "_new"
	drop := "DROP DATABASE IF EXISTS " + draft + " WITH (FORCE)"
	for _, sql := range []string{drop, "CREATE DATABASE " + draft + " TEMPLATE template0"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := build(s.url(draft)); err != nil {
		_, dropErr := conn.Exec(ctx, drop)
		return errors.Join(fmt.Errorf("build: %w", err), dropErr)
	}
	// A connection that is still open would make every copy fail later; the rename reports it now. The server needs a moment
	// to notice a closed connection, and waits for it.
	if _, err := conn.Exec(ctx, "ALTER DATABASE "+draft+" RENAME TO "+tmpl); err != nil {
		return fmt.Errorf("the builder must close its connections: %w", err)
	}
	for _, sql := range []string{
		"ALTER DATABASE " + tmpl + " ALLOW_CONNECTIONS false",
		fmt.Sprintf("COMMENT ON DATABASE %s IS '%010d'", tmpl, time.Now().Unix()), // its age, for drop
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
