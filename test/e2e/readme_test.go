package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// step is one command of the tour and what it has to print; "…" stands for anything within a line.
type step struct{ command, want string }

// tourSteps reads the block that begins with ```console tour: lines after "$ " are commands, going on in the next line after
// a backslash, and the lines below are what they print.
func tourSteps(text string) []step {
	_, block, found := strings.Cut(text, "```console tour\n")
	if !found {
		return nil
	}
	block, _, _ = strings.Cut(block, "\n```")
	var steps []step
	open := false
	for line := range strings.SplitSeq(block, "\n") {
		switch command, isCommand := strings.CutPrefix(line, "$ "); {
		case isCommand:
			steps = append(steps, step{command: command})
			open = strings.HasSuffix(line, `\`)
		case open:
			steps[len(steps)-1].command += "\n" + line
			open = strings.HasSuffix(line, `\`)
		case len(steps) > 0 && strings.TrimSpace(line) != "":
			steps[len(steps)-1].want += line + "\n"
		}
	}
	return steps
}

// matches compares what was printed with what the page shows.
func matches(want, got string) bool {
	parts := strings.Split(strings.TrimSpace(want), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	ok, err := regexp.MatchString(`^`+strings.Join(parts, `[^\n]*`)+`$`, strings.TrimSpace(got))
	return err == nil && ok
}

// TestReadmeTour types what the README shows, on a new server, and compares what comes out. The commands find the key in
// $KEY and the API at the address of the page.
func TestReadmeTour(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := tourSteps(string(text))
	if len(steps) < 3 {
		t.Fatalf("README.md has a tour of %d commands, want at least 3 in a block that begins with ```console tour", len(steps))
	}
	ctx := bounded(t, 2*time.Minute)
	dev := harness.StartDev(t)
	for _, s := range steps {
		out, err := typed(ctx, dev, strings.ReplaceAll(s.command, "http://127.0.0.1:8080", dev.Info().API))
		if err != nil || (s.want != "" && !matches(s.want, out)) {
			t.Errorf("$ %s\nprinted (%v):\n%s\nand the page says:\n%s", s.command, err, out, s.want)
		}
	}
}

// typed runs one line in a shell.
func typed(ctx context.Context, dev *harness.Dev, line string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Env = append(os.Environ(), "KEY="+dev.Info().APIKey, "API="+dev.Info().API, "SIM="+dev.Info().Simulator)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out) + string(exit.Stderr), err
	}
	return string(out), err
}

func TestTourSteps(t *testing.T) {
	t.Parallel()
	page := "# x\n\n```console tour\n$ a \\\n  b\nfirst … line\n\n$ c\n```\n$ not this\n"
	got := tourSteps(page)
	if len(got) != 2 || got[0].command != "a \\\n  b" || got[0].want != "first … line\n" || got[1].command != "c" || got[1].want != "" {
		t.Errorf("steps %+v", got)
	}
	for out, want := range map[string]bool{"first 1 line\n": true, "first  line": true, "first\nline": false, "first 1 lines": false, "the first 1 line": false} {
		if matches(got[0].want, out) != want {
			t.Errorf("%q matches: %t, want %t", out, !want, want)
		}
	}
}
