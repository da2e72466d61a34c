// Command sidebyside runs one measurement of two refundry binaries in turns and prints how the figures of the second one
// relate to those of the first one. scripts/sidebyside calls it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// side is one of the two binaries.
type side struct {
	name   string // its name in the output
	binary string
}

type config struct {
	sides  [2]side
	args   []string // of the binary
	rounds int
	rename string // "old=new,…": names in the first binary's figures and those of the second one
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := compare(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sidebyside:", err)
		os.Exit(1)
	}
}

// parse parses the command line: [flags] OLD NEW -- VERB ARGS.
func parse(args []string) (config, error) {
	var c config
	fs := flag.NewFlagSet("sidebyside", flag.ContinueOnError)
	fs.IntVar(&c.rounds, "rounds", 9, "runs of each binary")
	fs.StringVar(&c.rename, "rename", "", "old=new,…: names of figures in OLD and in NEW")
	oldName := fs.String("old-name", "", "name of OLD in the output")
	newName := fs.String("new-name", "", "name of NEW in the output")
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	rest := fs.Args()
	if len(rest) < 4 || rest[2] != "--" {
		return c, errors.New("usage: sidebyside [flags] OLD NEW -- VERB ARGS…")
	}
	if c.rounds < 2 {
		return c, fmt.Errorf("-rounds %d: an interval needs at least 2", c.rounds)
	}
	c.sides = [2]side{{or(*oldName, rest[0]), rest[0]}, {or(*newName, rest[1]), rest[1]}}
	c.args = append([]string{"bench"}, rest[3:]...)
	if rest[3] == "bench" {
		c.args = rest[3:]
	}
	// One round of the verb is one round here, unless the caller wants medians of several.
	if !slices.ContainsFunc(c.args, func(a string) bool { return a == "--rounds" || strings.HasPrefix(a, "--rounds=") }) {
		c.args = append(c.args, "--rounds=1")
	}
	if !slices.Contains(c.args, "--json") {
		c.args = append(c.args, "--json")
	}
	return c, nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// compare measures in the order OLD NEW OLD NEW … and prints the tables to out and the progress to progress.
func compare(ctx context.Context, args []string, out, progress io.Writer) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	rename, err := renames(c.rename)
	if err != nil {
		return err
	}
	var runs [2][]report
	for round := range c.rounds {
		for i, s := range c.sides {
			begin := time.Now()
			r, err := measure(ctx, s, c.args)
			if err != nil {
				return err
			}
			if i == 0 {
				r.rename(rename)
			}
			runs[i] = append(runs[i], r)
			_, _ = fmt.Fprintf(progress, "round %d of %d, %s: %.0f s\n", round+1, c.rounds, s.name, time.Since(begin).Seconds())
		}
	}
	_, _ = fmt.Fprintf(out, "refundry %s, %d rounds in the order OLD NEW OLD NEW …\nOLD %s\nNEW %s\n%s\n",
		strings.Join(c.args, " "), c.rounds, c.sides[0].name, c.sides[1].name, runs[1][0].facts)
	return printTables(out, runs[0], runs[1])
}

// measure runs a binary once and parses the document that it prints.
func measure(ctx context.Context, s side, args []string) (report, error) {
	cmd := exec.CommandContext(ctx, s.binary, args...) // #nosec G204 -- the caller names the program
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute // for stopping its PostgreSQL and dropping its schemas
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return report{}, fmt.Errorf("%s %s: %w\n%s", s.binary, strings.Join(args, " "), err, stderr.String())
	}
	r, err := parseReport(stdout.Bytes())
	if err != nil {
		return report{}, fmt.Errorf("%s %s printed: %w\n%s", s.binary, strings.Join(args, " "), err, stdout.String())
	}
	return r, nil
}
