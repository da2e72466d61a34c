package main

import (
	"strings"
	"testing"
)

// TestRoleStatementsArePrinted prints the statements without a connection, for the database of the direct URL.
func TestRoleStatementsArePrinted(t *testing.T) {
	t.Parallel()
	out, err := run("migrate", "--role", `pay"ments`, "--print", "--database-url", "postgres://127.0.0.1:1/alias",
		"--database-url-direct", "postgres://127.0.0.1:1/Shop", "--schema", "cell_7")
	if err != nil {
		t.Fatal(err)
	}
	const role = `ALTER ROLE "pay""ments" IN DATABASE "Shop" SET `
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, want := range []string{`search_path TO "cell_7";`, `enable_seqscan TO 'off';`, `lock_timeout TO '2000';`, `timezone TO 'UTC';`} {
		if !strings.Contains(out, role+want) {
			t.Errorf("%s is missing:\n%s", want, out)
		}
	}
	for _, l := range lines {
		if !strings.HasPrefix(l, role) || !strings.HasSuffix(l, ";") {
			t.Errorf("%q is not one statement about the role", l)
		}
	}
	if len(lines) != 19 {
		t.Errorf("%d statements, want one for each of the 19 settings", len(lines))
	}
}

// TestDatabaseFlagsAreCheckedBeforeConnecting gives flags that are not valid.
func TestDatabaseFlagsAreCheckedBeforeConnecting(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		`--database-params: "session" is not one of startup, role`: {"tenant", "list", "--database-url", "postgres://127.0.0.1:1/x", "--database-params", "session"},
		"--print: only together with --role":                       {"migrate", "--database-url", "postgres://127.0.0.1:1/x", "--print"},
	} {
		if out, err := run(args...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v %s, want %q", strings.Join(args, " "), err, out, says)
		}
	}
}
