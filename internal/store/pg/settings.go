package pg

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// Params selects how the connections of the hot path get their settings.
type Params string

const (
	// ParamsStartup sends the settings when a connection starts. Poolers in transaction mode refuse that or drop them.
	ParamsStartup Params = "startup"
	// ParamsRole sends none: the database role has them, see RoleStatements, and every new connection is compared with them.
	ParamsRole Params = "role"
)

// ParseParams reads the name of a Params; "" is ParamsStartup.
func ParseParams(name string) (Params, error) {
	switch p := Params(name); p {
	case "":
		return ParamsStartup, nil
	case ParamsStartup, ParamsRole:
		return p, nil
	}
	return "", fmt.Errorf("%q is not one of %s, %s", name, ParamsStartup, ParamsRole)
}

// DefaultLockTimeout bounds the wait for a row lock on the hot path.
const DefaultLockTimeout = 2 * time.Second

// HotSettings are what the hot path relies on: set-based look-ups must use their indexes (generic plans, no hash or sequential scans
// over young tables), and nothing may wait for ever. Values are written as pg_settings shows them, in the unit of the setting.
func HotSettings(schema string, lockTimeout time.Duration) map[string]string {
	return withMeaning(map[string]string{
		"search_path":                         pgx.Identifier{schema}.Sanitize(),
		"plan_cache_mode":                     "force_generic_plan",
		"enable_seqscan":                      "off",
		"enable_hashjoin":                     "off",
		"enable_mergejoin":                    "off",
		"jit":                                 "off",
		"join_collapse_limit":                 "1", // joins run in the order in which they are written: on young tables the planner's order is a guess
		"lock_timeout":                        fmt.Sprint(lockTimeout.Milliseconds()),
		"statement_timeout":                   "30000",
		"idle_in_transaction_session_timeout": "30000",
	})
}

// withMeaning adds the settings that decide what a statement of ours means: its isolation, its comparisons, and the texts that it gives.
func withMeaning(to map[string]string) map[string]string {
	maps.Copy(to, map[string]string{
		"default_transaction_isolation":  "read committed", // after a wait for a row lock the statement sees the row as it is now
		"default_transaction_deferrable": "off",
		"transform_null_equals":          "off",
		"standard_conforming_strings":    "on",
		"client_encoding":                "UTF8",
		"bytea_output":                   "hex",
		"datestyle":                      "ISO, MDY",
		"intervalstyle":                  "postgres",
		"timezone":                       "UTC",
	})
	return to
}

// reliedOn are settings that a connection may not have, because what this program has checked or committed would not hold. They are
// compared and never sent: their other values are the operator's choice, or only a superuser can set them.
var reliedOn = map[string]struct{ not, wants string }{
	"synchronous_commit":       {"off", "on, or any other value than off: a crash of the server must lose no COMMIT"},
	"session_replication_role": {"replica", "origin: the guards of the tables are triggers"},
}

// OwnSettings are those of a session that is used outside of the hot path: the planner's defaults, also where the role has the
// settings of the hot path, and what more says.
func OwnSettings(schema string, more map[string]string) map[string]string {
	out := withMeaning(map[string]string{
		"search_path":         pgx.Identifier{schema}.Sanitize(),
		"plan_cache_mode":     "auto",
		"enable_seqscan":      "on",
		"enable_hashjoin":     "on",
		"enable_mergejoin":    "on",
		"join_collapse_limit": "8",
		"lock_timeout":        "0",
	})
	maps.Copy(out, more)
	return out
}

// SettingDifference is a setting of a connection with another value than wanted.
type SettingDifference struct{ Name, Has, Wants string }

// SettingsError says that a connection does not have the settings that were asked for. It counts as refund.ErrUnavailable: a running
// process goes on when the settings are mended.
type SettingsError struct {
	Role, Database string
	Differences    []SettingDifference
	sent           connectionUse
	defaults       bool // the differences are defaults of the role, the database or the server, which no connection may override
}

// Error names every setting, its value and the wanted one, and the remedy.
func (e *SettingsError) Error() string {
	var b strings.Builder
	if e.defaults {
		fmt.Fprintf(&b, "store: role %q has defaults in database %q that this program must not work with:", e.Role, e.Database)
		for _, d := range e.Differences {
			fmt.Fprintf(&b, "\n  %s is %s, wanted %s", d.Name, d.Has, d.Wants)
		}
		b.WriteString("\nReset them: ALTER ROLE … RESET, ALTER DATABASE … RESET, or postgresql.conf.")
		return b.String()
	}
	switch e.sent {
	case useRole:
		fmt.Fprintf(&b, "store: role %q lacks settings in database %q that this program relies on:", e.Role, e.Database)
	case useHot, useOwn:
		b.WriteString("store: a pooler dropped settings that were sent when the connection started:")
	}
	for _, d := range e.Differences {
		fmt.Fprintf(&b, "\n  %s is %s, wanted %s", d.Name, d.Has, d.Wants)
	}
	switch e.sent {
	case useRole:
		fmt.Fprintf(&b, "\nSet them with `refundry migrate --role %s`, then let the pooler open new connections (PgBouncer: RECONNECT): "+
			"a connection keeps the settings that it began with.", e.Role)
	case useHot:
		b.WriteString("\n" + adviceHot)
	case useOwn:
		b.WriteString("\n" + adviceOwn)
	}
	return b.String()
}

// Is makes the error one of the class refund.ErrUnavailable.
func (e *SettingsError) Is(target error) bool { return target == refund.ErrUnavailable }

const settingsSQL = `SELECT session_user::text, current_database()::text, lower(s.name), s.setting FROM pg_settings s WHERE lower(s.name) = ANY($1)`

// compareSettings gives a *SettingsError unless the connection has all the wanted settings, and those of reliedOn.
func compareSettings(ctx context.Context, conn *pgx.Conn, use connectionUse, wanted map[string]string) error {
	names := slices.Concat(slices.Sorted(maps.Keys(wanted)), slices.Sorted(maps.Keys(reliedOn)))
	rows, err := conn.Query(ctx, settingsSQL, pgx.QueryExecModeExec, names) // leaves no prepared statement on a pooler's connection
	if err != nil {
		return Translate(err)
	}
	e := &SettingsError{sent: use}
	has := map[string]string{}
	var name, value string
	if _, err := pgx.ForEachRow(rows, []any{&e.Role, &e.Database, &name, &value}, func() error { has[name] = value; return nil }); err != nil {
		return Translate(err)
	}
	for _, n := range names {
		relied, unsent := reliedOn[n]
		if unsent && has[n] == relied.not {
			return &SettingsError{Role: e.Role, Database: e.Database, defaults: true, Differences: []SettingDifference{{n, has[n], relied.wants}}}
		}
		if !unsent && unquoted(has[n]) != unquoted(wanted[n]) {
			e.Differences = append(e.Differences, SettingDifference{n, has[n], wanted[n]})
		}
	}
	if len(e.Differences) > 0 {
		return e
	}
	return nil
}

// unquoted makes both ways to write a single name in search_path equal. Names of schemas need no quotes, see schemaNamePattern.
func unquoted(v string) string { return strings.Trim(v, `"`) }

// RoleStatements are the statements that give a role the settings of the hot path, in the database that url names. They need the right
// to alter the role; a role may alter itself. Nothing is connected to.
func RoleStatements(url, role, schema string) ([]string, error) {
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("store: the database URL cannot be read: %w", err)
	}
	return roleStatements(role, cmp.Or(cc.Database, cc.User), schema)
}

func roleStatements(role, database, schema string) ([]string, error) {
	if err := CheckSchemaName(schema); err != nil {
		return nil, err
	}
	var out []string
	settings := HotSettings(schema, DefaultLockTimeout)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := settings[name]
		if name != "search_path" {
			value = "'" + value + "'"
		}
		out = append(out, fmt.Sprintf("ALTER ROLE %s IN DATABASE %s SET %s TO %s", pgx.Identifier{role}.Sanitize(), pgx.Identifier{database}.Sanitize(), name, value))
	}
	return out, nil
}

// SetRole gives the role the settings of the hot path in the database of url, all or none. Connections that are open keep what they have.
func SetRole(ctx context.Context, url, role, schema string) (database string, err error) {
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		return "", fmt.Errorf("store: the database URL cannot be read: %w", err)
	}
	cc.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // works through a pooler, too
	conn, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return "", explainConnect(ctx, cc, useOwn, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := conn.QueryRow(ctx, `SELECT current_database()`).Scan(&database); err != nil {
		return "", Translate(err)
	}
	statements, err := roleStatements(role, database, schema)
	if err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, strings.Join(statements, ";\n")); err != nil { // one message is one transaction
		return "", fmt.Errorf("store: role %q: %w", role, err)
	}
	return database, nil
}
