package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/bench"
	"github.com/refundry/refundry/internal/store/migrate"
)

// benchFlags are the flags of every measurement.
type benchFlags struct {
	common
	callers  []int
	duration time.Duration
	rounds   int
}

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure the throughput on this machine: accepted refunds, completed refunds, events",
		Long: `Measures in turns with a baseline: pgbench writes the same rows in a pipeline, in the same database. The ratio of the two can be
compared between machines, the absolute figures cannot. Without --database-url a PostgreSQL with fsync on is started in a
temporary folder.`}
	cmd.AddCommand(benchAcceptCommand(), benchLifecycleCommand(), benchBridgeCommand())
	return cmd
}

func (f *benchFlags) bindBench(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.databaseURL, "database-url", "",
		"scratch database in which schemas are created and dropped (default: a temporary PostgreSQL)")
	f.bindLog(cmd)
	cmd.Flags().IntSliceVar(&f.callers, "callers", []int{64, 16},
		"callers that wait for an answer before their next request; one measurement per number")
	cmd.Flags().DurationVar(&f.duration, "duration", 5*time.Second, "length of one measurement")
	cmd.Flags().IntVar(&f.rounds, "rounds", 3, "measurements of which the median is reported")
}

// report is a result that can be printed as a table.
type report interface{ Print(w io.Writer) }

func (f *benchFlags) run(cmd *cobra.Command, measure func(ctx context.Context, cfg bench.AcceptConfig, p *benchPlace) (report, error)) (err error) {
	if f.logLevel == "info" {
		f.logLevel = "error" // a log of every step would slow the measurement
	}
	log, err := f.logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	p, err := openBenchPlace(cmd.Context(), f.databaseURL, log)
	if err != nil {
		return err
	}
	defer func() {
		if e := p.close(); err == nil {
			err = e
		}
	}()
	cfg := bench.AcceptConfig{URL: p.url, Callers: f.callers, Duration: f.duration, Rounds: f.rounds, Account: demoTenant, Progress: cmd.ErrOrStderr(),
		Migrate: func(ctx context.Context, schema string) error {
			_, err := migrate.Up(ctx, migrate.Config{URL: p.url, Schema: schema, Logger: log})
			return err
		}}
	r, err := measure(cmd.Context(), cfg, p)
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(cmd, r)
	}
	r.Print(cmd.OutOrStdout())
	return nil
}

func benchAcceptCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{Use: "accept", Short: "Measure accepted refunds per second: in process, and over HTTP", Args: cobra.NoArgs,
		Example: "  refundry bench accept\n  refundry bench accept --callers 64 --rounds 5 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, func(ctx context.Context, cfg bench.AcceptConfig, p *benchPlace) (report, error) {
				cfg.Variants = []bench.Variant{{Name: "door", Open: p.openDoor}, {Name: "http", Open: p.openHTTP(false)}}
				return bench.Accept(ctx, cfg)
			})
		}}
	f.bindBench(cmd)
	return cmd
}

func benchLifecycleCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{Use: "lifecycle", Short: "Measure refunds from the HTTP request to SUCCESS at the simulator", Args: cobra.NoArgs,
		Example: "  refundry bench lifecycle\n  refundry bench lifecycle --callers 16 --duration 10s --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, func(ctx context.Context, cfg bench.AcceptConfig, p *benchPlace) (report, error) {
				cfg.Variants = []bench.Variant{{Name: "http", Open: p.openHTTP(true)}}
				cfg.Verify = p.verify
				return bench.Lifecycle(ctx, cfg)
			})
		}}
	f.bindBench(cmd)
	return cmd
}
