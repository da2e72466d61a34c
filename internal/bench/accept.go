package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// Target accepts refunds.
type Target struct {
	// Accept accepts one refund and returns nil when it is durable. Many goroutines call it at the same time.
	Accept func(ctx context.Context, in intake.Intake) error
	// Close closes the target; can be nil.
	Close func()
}

// Variant is one way of accepting refunds.
type Variant struct {
	Name string // "door", "http"
	// Open returns the target in a schema that Migrate has prepared. tenant is the only tenant of the schema.
	Open func(ctx context.Context, schema string, tenant refund.Tenant) (Target, error)
}

// AcceptConfig configures Accept. URL, Migrate and Variants are required.
type AcceptConfig struct {
	// URL of a scratch database (postgres://…) whose role can create and drop schemas and run CHECKPOINT.
	URL string
	// Schema begins the names of the schemas. Default "bench".
	Schema string
	// Migrate fills an empty schema.
	Migrate  func(ctx context.Context, schema string) error
	Variants []Variant

	Callers  []int         // that wait for an answer before the next refund; default 64, 16
	Duration time.Duration // of one measurement; default 5 s
	Warmup   time.Duration // with the same load before it; default 1 s
	Rounds   int           // default 3
	// Verify checks a schema and returns the number of its journal rows and the time of checking their chain and fold; nil =
	// not measured.
	Verify   func(ctx context.Context, schema string) (rows int64, took time.Duration, err error)
	Payments int       // over which the refunds are distributed; default 20,000
	Account  string    // channel account of the payments; default "demo"
	Progress io.Writer // gets a line per measurement; nil = none
	Pgbench  string    // program; default: searched in PATH and in the folders of packages
	Psql     string    // likewise
}

// Measure is one measurement: refunds per second, and the latency of one refund in milliseconds.
type Measure struct {
	PerSecond float64 `json:"perSecond"`
	P50       float64 `json:"p50Ms"`
	P99       float64 `json:"p99Ms"`
	// Ratio is PerSecond divided by that of the floor in the same round.
	Ratio float64 `json:"ratio,omitempty"`
	// CPU of the whole run, including the warm-up. It can be compared also on a machine with other work.
	CPU CPU `json:"cpuMs"`
}

// CPU is processor time per refund in milliseconds.
type CPU struct {
	Postgres float64 `json:"postgres"` // 0 = not available: on another machine or another system
	Client   float64 `json:"client"`   // of this process and pgbench
}

// AcceptResult has the measurements of one variant with one number of callers.
type AcceptResult struct {
	Variant string    `json:"variant"`
	Callers int       `json:"callers"`
	Median  Measure   `json:"median"` // of each field separately
	Rounds  []Measure `json:"rounds"`
}

// AcceptReport is the result of Accept. The floor is a variant with the name "floor".
type AcceptReport struct {
	Server   string         `json:"server"` // version of PostgreSQL
	Fsync    string         `json:"fsync"`
	Duration string         `json:"duration"`
	Results  []AcceptResult `json:"results"`
}

// Floor is the name of the floor in the results.
const Floor = "floor"

func (c AcceptConfig) complete() (AcceptConfig, error) {
	if c.URL == "" || c.Migrate == nil || len(c.Variants) == 0 {
		return c, errors.New("bench: URL, Migrate and at least one variant are required")
	}
	def := func(v *string, d string) {
		if *v == "" {
			*v = d
		}
	}
	def(&c.Schema, "bench")
	def(&c.Account, "demo")
	if len(c.Callers) == 0 {
		c.Callers = []int{64, 16}
	}
	if c.Duration <= 0 {
		c.Duration = 5 * time.Second
	}
	if c.Warmup <= 0 {
		c.Warmup = time.Second
	}
	if c.Rounds <= 0 {
		c.Rounds = 3
	}
	if c.Payments <= 0 {
		c.Payments = 20_000
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	var err error
	if c.Psql, err = program(c.Psql, "psql"); err != nil {
		return c, err
	}
	c.Pgbench, err = program(c.Pgbench, "pgbench")
	return c, err
}

// Accept measures all variants and the floor in rounds, whose order is reversed each time. It drops its schemas. Errors:
// missing programs, errors of the database or of a target; a refund that is not accepted ends the measurement.
func Accept(ctx context.Context, cfg AcceptConfig) (AcceptReport, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return AcceptReport{}, err
	}
	b := &run{cfg: cfg}
	report := AcceptReport{Duration: cfg.Duration.String()}
	if report.Server, err = b.psql(ctx, `SHOW server_version`); err != nil {
		return report, err
	}
	if report.Fsync, err = b.psql(ctx, `SHOW fsync`); err != nil {
		return report, err
	}
	for _, callers := range cfg.Callers {
		results, err := b.rounds(ctx, callers)
		if err != nil {
			return report, err
		}
		report.Results = append(report.Results, results...)
	}
	return report, nil
}

// run is one call of Accept.
type run struct {
	cfg     AcceptConfig
	schemas int
}

func (b *run) rounds(ctx context.Context, callers int) ([]AcceptResult, error) {
	order := append([]Variant{{Name: Floor}}, b.cfg.Variants...)
	results := make([]AcceptResult, len(order))
	for i, v := range order {
		results[i] = AcceptResult{Variant: v.Name, Callers: callers}
	}
	for round := range b.cfg.Rounds {
		turn := make([]int, len(order))
		for i := range turn {
			turn[i] = i
		}
		if round%2 == 1 {
			slices.Reverse(turn)
		}
		for _, i := range turn {
			m, err := b.one(ctx, order[i], callers)
			if err != nil {
				return nil, fmt.Errorf("bench: %s with %d callers: %w", order[i].Name, callers, err)
			}
			results[i].Rounds = append(results[i].Rounds, m)
			_, _ = fmt.Fprintf(b.cfg.Progress, "round %d of %d, %d callers, %-8s %8.0f refunds/s  p50 %6.2f ms  p99 %6.2f ms  CPU %.3f + %.3f ms\n",
				round+1, b.cfg.Rounds, callers, order[i].Name, m.PerSecond, m.P50, m.P99, m.CPU.Postgres, m.CPU.Client)
		}
	}
	for i := range results {
		for round := range results[i].Rounds {
			if i > 0 {
				results[i].Rounds[round].Ratio = results[i].Rounds[round].PerSecond / results[0].Rounds[round].PerSecond
			}
		}
		results[i].Median = medians(results[i].Rounds)
	}
	return results, nil
}

// one creates a schema, measures one variant in it and drops it.
func (b *run) one(ctx context.Context, v Variant, callers int) (m Measure, err error) {
	schema, tenant, err := b.prepare(ctx)
	if err != nil {
		return m, err
	}
	defer func() {
		if dropErr := b.drop(context.WithoutCancel(ctx), schema); err == nil {
			err = dropErr
		}
	}()
	if v.Name == Floor {
		return b.floor(ctx, schema, tenant, callers)
	}
	target, err := v.Open(ctx, schema, tenant)
	if err != nil {
		return m, err
	}
	if target.Close != nil {
		defer target.Close()
	}
	return b.load(ctx, target, tenant, callers)
}

func medians(list []Measure) Measure {
	of := func(field func(Measure) float64) float64 {
		values := make([]float64, len(list))
		for i, m := range list {
			values[i] = field(m)
		}
		slices.Sort(values)
		n := len(values)
		return (values[(n-1)/2] + values[n/2]) / 2
	}
	return Measure{PerSecond: of(func(m Measure) float64 { return m.PerSecond }), P50: of(func(m Measure) float64 { return m.P50 }),
		P99: of(func(m Measure) float64 { return m.P99 }), Ratio: of(func(m Measure) float64 { return m.Ratio }),
		CPU: CPU{Postgres: of(func(m Measure) float64 { return m.CPU.Postgres }), Client: of(func(m Measure) float64 { return m.CPU.Client })}}
}

// Print writes the medians as a table.
func (r AcceptReport) Print(w io.Writer) {
	_, _ = fmt.Fprintf(w, "PostgreSQL %s, fsync %s, %s each, medians of the rounds; CPU in ms per refund\n%8s  %-8s %10s %9s %9s %9s %9s %9s\n",
		r.Server, r.Fsync, r.Duration,
		"callers", "", "refunds/s", "p50 ms", "p99 ms", "PG CPU", "own CPU", "× floor")
	for _, x := range r.Results {
		ratio := ""
		if x.Median.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", x.Median.Ratio)
		}
		m := x.Median
		_, _ = fmt.Fprintf(w, "%8d  %-8s %10.0f %9.2f %9.2f %9.3f %9.3f %9s\n", x.Callers, x.Variant, m.PerSecond, m.P50, m.P99, m.CPU.Postgres, m.CPU.Client, ratio)
	}
}
