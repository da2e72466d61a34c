package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verbs returns every command that runs something, by its words.
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
			t.Errorf("%s --help has no example:\n%s", name, out)
		}
		if cmd.Short == "" {
			t.Errorf("%s has no short description", name)
		}
		if cmd.HasLocalFlags() && !strings.Contains(out, "Flags:") {
			t.Errorf("%s --help does not list its flags", name)
		}
	}
}

func TestVerbsNameWhatIsWrong(t *testing.T) {
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

// TestEveryFlagIsExplained requires a usage text of one line for every flag of every verb, and a default beside a zero value.
func TestEveryFlagIsExplained(t *testing.T) {
	t.Parallel()
	for name, cmd := range verbs() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch {
			case f.Name == "help" || f.Name == "version": // cobra's own
			case len(f.Usage) < 10 || strings.Contains(f.Usage, "\n") || len(f.Usage) > 150:
				t.Errorf("%s --%s: the usage text has %d characters, want one line of 10 to 150: %q", name, f.Name, len(f.Usage), f.Usage)
			case strings.HasSuffix(f.Usage, ".") || strings.Contains(f.Usage, "…"):
				t.Errorf("%s --%s: the usage text ends with a full stop or leaves something out: %q", name, f.Name, f.Usage)
			case f.Value.Type() == "duration" && f.DefValue == "0s" && !strings.Contains(f.Usage, "0s =") && !strings.Contains(f.Usage, "default"):
				t.Errorf("%s --%s: the usage text does not say what 0s means: %q", name, f.Name, f.Usage)
			}
		})
	}
}

// TestExamplesParse parses every example of every verb: the command exists, takes the arguments and has the flags, and a reader can paste
// it without replacing anything.
func TestExamplesParse(t *testing.T) {
	t.Parallel()
	lines := 0
	for name, cmd := range verbs() {
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
			line, _, _ = strings.Cut(line, " | ")
			words := strings.Fields(line)
			if len(words) == 0 || words[0] != "refundry" {
				continue
			}
			lines++
			found, args, err := rootCommand().Find(words[1:])
			if err == nil {
				err = found.ParseFlags(args)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err != nil || strings.ContainsAny(line, "…<>") {
				t.Errorf("%s: the example %q cannot be pasted: %v", name, line, err)
			}
		}
	}
	if lines < 20 {
		t.Errorf("only %d examples were found", lines)
	}
}
