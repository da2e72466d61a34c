package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verbs lists every command that does something, by its words.
func verbs() map[string]*cobra.Command {
	out := map[string]*cobra.Command{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() {
			out[strings.TrimPrefix(c.CommandPath(), "refundry ")] = c
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(rootCommand())
	return out
}

// run executes one command line in this process and returns what it printed.
func run(args ...string) (string, error) {
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}

func TestEveryVerbHelpsWithAnExample(t *testing.T) {
	t.Parallel()
	all := verbs()
	if len(all) < 10 {
		t.Fatalf("only %d verbs found", len(all))
	}
	for name, cmd := range all {
		out, err := run(append(strings.Fields(name), "--help")...)
		if err != nil {
			t.Errorf("%s --help: %v", name, err)
		}
		first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
		if first == "" || !strings.Contains(out, first) || !strings.Contains(out, "refundry "+name) {
			t.Errorf("%s --help shows no example:\n%s", name, out)
		}
		if cmd.Short == "" {
			t.Errorf("%s: nothing says what it does", name)
		}
		if cmd.HasLocalFlags() && !strings.Contains(out, "Flags:") {
			t.Errorf("%s --help does not list its flags", name)
		}
	}
}

func TestVerbsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	const database = "--database-url=postgres://127.0.0.1:1/x"
	for _, c := range []struct {
		line, want string
	}{
		{"migrate", "--database-url"},
		{"serve", "--database-url"},
		{"serve --roles cook " + database, `"cook" is not one of`},
		{"serve --workers 0 " + database, "--workers"},
		{"serve --config /does/not/exist " + database, "/does/not/exist"},
		{"key add shop --actor a/b " + database, "--actor"},
		{"key add shop --actor a --scopes root " + database, `"root" is not one of`},
		{"key add shop --actor a --kind robot " + database, `"robot" is not one of`},
		{"key add shop --actor a --valid-for -1h " + database, "--valid-for"},
		{"tenant add", "arg"},
		{"dev --log-level loud", `"loud" is not one of`},
		{"simulate --log-level loud", `"loud" is not one of`},
		{"config check /does/not/exist", "/does/not/exist"},
		{"fly", "unknown command"},
		{"dev --fly", "unknown flag"},
	} {
		out, err := run(strings.Fields(c.line)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %s\n%s", c.line, err, c.want, out)
		}
	}
}
