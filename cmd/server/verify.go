package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/store/verify"
)

// exitError is an error with the exit code of the process.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

// errViolations means that the check was completed and found violations.
var errViolations = errors.New("promises are broken")

// unchecked gives err the exit code 2, for a check that could not be completed. Code 1 means violations.
func unchecked(err error) error {
	if err == nil {
		return nil
	}
	return exitError{2, err}
}

type verifyFlags struct {
	common
	tenant  string
	samples int
	overdue time.Duration
	key     string
	anchors string
	file    string
}

func verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every promise from the database alone",
		Long: `Reads the whole database and counts the violations of every promise. It writes nothing, and the service can keep running.

Exit code 0: no violation. 1: at least one violation. 2: the check could not be completed.`,
		Example: `  refundry verify --database-url postgres://refundry@localhost:5432/refundry
  refundry verify --json | jq '.promises[] | select(.violations > 0)'
  refundry verify --file rf_1001.json              # a document of refundry export`,
		Args: func(cmd *cobra.Command, args []string) error { return unchecked(cobra.NoArgs(cmd, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := f.run(cmd)
			if errors.Is(err, errViolations) {
				return err
			}
			return unchecked(err)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return unchecked(err) })
	f.bind(cmd)
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "check only the tenant with this code, without the anchors, which cover all tenants")
	cmd.Flags().IntVar(&f.samples, "samples", 10, "violations that are shown for each promise")
	cmd.Flags().DurationVar(&f.overdue, "overdue", 2*time.Minute,
		"how late a timer may be before it is a violation; raise it while the service is stopped")
	cmd.Flags().StringVar(&f.file, "file", "", "check a document of refundry export instead of a database; - = standard input")
	cmd.Flags().StringVar(&f.key, "anchor-public-key", "", "ed25519 public key with which the anchors, or the document of --file, must be signed: 64 hex digits, or file:PATH")
	cmd.Flags().StringVar(&f.anchors, "anchor-file", "", "copy of the anchors with which those in the database are compared")
	return cmd
}

func (f *verifyFlags) run(cmd *cobra.Command) error {
	if f.samples < 1 || f.overdue <= 0 {
		return errors.New("--samples and --overdue: must be above 0")
	}
	if f.file != "" {
		return f.verifyFile(cmd)
	}
	if err := f.needDatabase(); err != nil {
		return err
	}
	key, err := readPublicKey(f.key)
	if err != nil {
		return err
	}
	bar := newProgress(cmd.ErrOrStderr())
	v, err := verify.Open(cmd.Context(), verify.Config{URL: f.direct(), Schema: f.schema, Tenant: f.tenant, Samples: f.samples,
		Overdue: f.overdue, Anchors: verify.AnchorTrust{Key: key, File: f.anchors}, Progress: func(p verify.Progress) { bar.show(p.Phase, p.Done, p.Total) }})
	if err != nil {
		return err
	}
	defer v.Close()
	r, err := v.Run(cmd.Context())
	bar.end()
	if err != nil {
		return err
	}
	return f.report(cmd, r)
}

// report prints the result and returns errViolations if there are any.
func (f *verifyFlags) report(cmd *cobra.Command, r verify.Report) error {
	if f.json {
		if err := printJSON(cmd, r); err != nil {
			return err
		}
	} else if err := printReport(cmd, r); err != nil {
		return err
	}
	if !r.OK {
		return errViolations
	}
	return nil
}

func printReport(cmd *cobra.Command, r verify.Report) error {
	var rows [][]any
	for _, p := range r.Promises {
		rows = append(rows, []any{p.ID, p.Violations, p.Title})
	}
	if err := printTable(cmd, "PROMISE\tVIOLATIONS\tWHAT", rows); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for _, p := range r.Promises {
		for _, s := range p.Samples {
			fmt.Fprintf(out, "%s %s: %s\n", p.ID, s.Check, strings.TrimSpace(strings.Join([]string{s.Tenant, s.RefundID, s.Subject, s.What}, " ")))
		}
	}
	fmt.Fprintf(out, "%d refunds, %d journal rows, %d anchors in %.1f s (hash chain and fold: %.0f rows/s)\n", r.Refunds, r.Rows, r.Anchors, r.Seconds,
		float64(r.Rows)/max(r.Streamed, 1e-9))
	return nil
}

// progress shows one line that it overwrites. It writes to terminals only.
type progress struct {
	w     io.Writer
	on    bool
	last  time.Time
	wrote bool
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w}
	if f, ok := w.(*os.File); ok {
		st, err := f.Stat()
		p.on = err == nil && st.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// show displays how much is done, at most ten times a second. total 0 = not known.
func (p *progress) show(what string, done, total int64) {
	if !p.on || time.Since(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.wrote = time.Now(), true
	if total <= 0 {
		fmt.Fprintf(p.w, "\r\x1b[K%s: %d", what, done)
		return
	}
	const width = 30
	full := int(min(done, total) * width / total)
	fmt.Fprintf(p.w, "\r\x1b[K%s [%s%s] %d of about %d", what, strings.Repeat("=", full), strings.Repeat(" ", width-full), done, total)
}

// end clears the line.
func (p *progress) end() {
	if p.wrote {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
