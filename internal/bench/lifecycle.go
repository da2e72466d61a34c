package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/clock"
)

// LifecycleReport is the result of Lifecycle.
type LifecycleReport struct {
	Server  string            `json:"server"`
	Fsync   string            `json:"fsync"`
	Results []LifecycleResult `json:"results"`
}

// LifecycleResult is one number of callers: refunds from acceptance to SUCCESS.
type LifecycleResult struct {
	Callers int                `json:"callers"`
	Median  LifecycleMeasure   `json:"median"` // of each field separately
	Rounds  []LifecycleMeasure `json:"rounds"`
}

// LifecycleMeasure is one measurement. Times are in milliseconds.
type LifecycleMeasure struct {
	Refunds          int     `json:"refunds"`
	AcceptedPerSec   float64 `json:"acceptedPerSecond"`
	SuccessPerSecond float64 `json:"successPerSecond"` // all refunds divided by the time until the last one is SUCCESS
	AcceptP50        float64 `json:"acceptP50Ms"`
	AcceptP99        float64 `json:"acceptP99Ms"`
	LifeP50          float64 `json:"acceptToSuccessP50Ms"` // callers are faster than the workers, so most of it is waiting
	LifeP99          float64 `json:"acceptToSuccessP99Ms"`
	FloorPerSecond   float64 `json:"floorPerSecond"`             // pgbench writing the rows of acceptance only
	Ratio            float64 `json:"ratio"`                      // SuccessPerSecond divided by FloorPerSecond
	VerifyPerSecond  float64 `json:"verifyJournalRowsPerSecond"` // hash chain and fold of what the round has written
	CopyPerSecond    float64 `json:"copyJournalRowsPerSecond"`   // the same rows by COPY to psql, without a check
}

// lifecycleWait limits the wait for the last refund.
const lifecycleWait = 5 * time.Minute

// Lifecycle measures refunds from acceptance to SUCCESS, with callers that wait for each answer. The target of its one
// variant must also work the refunds. The floor of acceptance runs in the same round.
func Lifecycle(ctx context.Context, cfg AcceptConfig) (LifecycleReport, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return LifecycleReport{}, err
	}
	b := &run{cfg: cfg}
	var report LifecycleReport
	if report.Server, err = b.psql(ctx, `SHOW server_version`); err != nil {
		return report, err
	}
	if report.Fsync, err = b.psql(ctx, `SHOW fsync`); err != nil {
		return report, err
	}
	for _, callers := range cfg.Callers {
		res := LifecycleResult{Callers: callers}
		for round := range cfg.Rounds {
			floor, err := b.one(ctx, Variant{Name: Floor}, callers)
			if err != nil {
				return report, err
			}
			m, err := b.life(ctx, callers)
			if err != nil {
				return report, err
			}
			m.FloorPerSecond, m.Ratio = floor.PerSecond, m.SuccessPerSecond/floor.PerSecond
			res.Rounds = append(res.Rounds, m)
			_, _ = fmt.Fprintf(cfg.Progress, "round %d of %d, %d callers: %d refunds, %.0f accepted/s, %.0f SUCCESS/s, floor %.0f/s\n",
				round+1, cfg.Rounds, callers, m.Refunds, m.AcceptedPerSec, m.SuccessPerSecond, m.FloorPerSecond)
		}
		res.Median = lifeMedians(res.Rounds)
		report.Results = append(report.Results, res)
	}
	return report, nil
}

func (b *run) life(ctx context.Context, callers int) (m LifecycleMeasure, err error) {
	schema, tenant, err := b.prepare(ctx)
	if err != nil {
		return m, err
	}
	defer func() {
		if dropErr := b.drop(context.WithoutCancel(ctx), schema); err == nil {
			err = dropErr
		}
	}()
	target, err := b.cfg.Variants[0].Open(ctx, schema, tenant)
	if err != nil {
		return m, err
	}
	if target.Close != nil {
		defer target.Close()
	}
	start := time.Now()
	accepted, err := b.load(ctx, target, tenant, callers)
	if err != nil {
		return m, err
	}
	m.AcceptedPerSec, m.AcceptP50, m.AcceptP99 = accepted.PerSecond, accepted.P50, accepted.P99
	if err := b.untilSuccess(ctx, schema); err != nil {
		return m, err
	}
	took := time.Since(start)
	text, err := b.psql(ctx, `SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), percentile_cont(0.99) WITHIN GROUP (ORDER BY ms)
		FROM (SELECT extract(epoch FROM final_at - created_at) * 1000 AS ms FROM `+schema+`.refunds) x`)
	if err != nil {
		return m, err
	}
	if _, err := fmt.Sscan(strings.ReplaceAll(text, "|", " "), &m.Refunds, &m.LifeP50, &m.LifeP99); err != nil {
		return m, fmt.Errorf("bench: %q: %w", text, err)
	}
	m.SuccessPerSecond = float64(m.Refunds) / took.Seconds()
	return m, b.verified(ctx, schema, &m)
}

// verified checks what the round has written, and reads the same journal by COPY for comparison.
func (b *run) verified(ctx context.Context, schema string, m *LifecycleMeasure) error {
	if b.cfg.Verify == nil {
		return nil
	}
	rows, took, err := b.cfg.Verify(ctx, schema)
	if err != nil {
		return err
	}
	start := time.Now()
	if _, err := b.psql(ctx, `COPY (SELECT * FROM `+schema+`.journal ORDER BY tenant_id, rid, seq) TO STDOUT WITH (FORMAT binary)`); err != nil {
		return err
	}
	m.VerifyPerSecond, m.CopyPerSecond = float64(rows)/took.Seconds(), float64(rows)/time.Since(start).Seconds()
	return nil
}

// untilSuccess waits until no refund is open. A refund in another final state is an error.
func (b *run) untilSuccess(ctx context.Context, schema string) error {
	ctx, cancel := context.WithTimeout(ctx, lifecycleWait)
	defer cancel()
	for {
		open, err := b.psql(ctx, `SELECT count(*) FROM `+schema+`.refunds WHERE next_action_at IS NOT NULL`)
		if err != nil {
			return err
		}
		if open == "0" {
			break
		}
		if clock.Pause(ctx, clock.Jitter(50*time.Millisecond, 0.2)) != nil {
			return fmt.Errorf("bench: %s refunds are still open after %s", open, lifecycleWait)
		}
	}
	other, err := b.psql(ctx, `SELECT count(*) FROM `+schema+`.refunds WHERE state <> 'SUCCESS'`)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(other); err != nil || n > 0 {
		return fmt.Errorf("bench: %s refunds did not succeed", other)
	}
	return nil
}

func lifeMedians(list []LifecycleMeasure) LifecycleMeasure {
	of := func(field func(LifecycleMeasure) float64) float64 {
		values := make([]float64, len(list))
		for i, m := range list {
			values[i] = field(m)
		}
		return median(values)
	}
	return LifecycleMeasure{
		Refunds:          int(of(func(m LifecycleMeasure) float64 { return float64(m.Refunds) })),
		AcceptedPerSec:   of(func(m LifecycleMeasure) float64 { return m.AcceptedPerSec }),
		SuccessPerSecond: of(func(m LifecycleMeasure) float64 { return m.SuccessPerSecond }),
		AcceptP50:        of(func(m LifecycleMeasure) float64 { return m.AcceptP50 }),
		AcceptP99:        of(func(m LifecycleMeasure) float64 { return m.AcceptP99 }),
		LifeP50:          of(func(m LifecycleMeasure) float64 { return m.LifeP50 }),
		LifeP99:          of(func(m LifecycleMeasure) float64 { return m.LifeP99 }),
		FloorPerSecond:   of(func(m LifecycleMeasure) float64 { return m.FloorPerSecond }),
		Ratio:            of(func(m LifecycleMeasure) float64 { return m.Ratio }),
		VerifyPerSecond:  of(func(m LifecycleMeasure) float64 { return m.VerifyPerSecond }),
		CopyPerSecond:    of(func(m LifecycleMeasure) float64 { return m.CopyPerSecond }),
	}
}

// Print writes the medians as a table.
func (r LifecycleReport) Print(w io.Writer) {
	_, _ = fmt.Fprintf(w, "PostgreSQL %s, fsync %s, medians of the rounds\n%8s %9s %11s %11s %11s %11s %12s %12s %8s %12s %10s\n", r.Server, r.Fsync,
		"callers", "refunds", "accepted/s", "SUCCESS/s", "accept p50", "accept p99", "life p50 ms", "life p99 ms", "× floor", "verified/s", "copied/s")
	for _, x := range r.Results {
		m := x.Median
		_, _ = fmt.Fprintf(w, "%8d %9d %11.0f %11.0f %11.2f %11.2f %12.0f %12.0f %8.2f %12.0f %10.0f\n", x.Callers, m.Refunds, m.AcceptedPerSec, m.SuccessPerSecond,
			m.AcceptP50, m.AcceptP99, m.LifeP50, m.LifeP99, m.Ratio, m.VerifyPerSecond, m.CopyPerSecond)
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
