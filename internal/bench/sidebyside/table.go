package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// seed of the resampling, so that the same rounds always give the same intervals.
const seed = 1

// enoughRounds is the least number of rounds for which "differs" is answered. With fewer, intervals are far too narrow.
const enoughRounds = 9

// printTables prints a table for each result: the rounds, the medians, and NEW/OLD with its interval. It names the results
// and figures that only one side has, which cannot be compared.
func printTables(out io.Writer, before, after []report) error {
	for _, g := range after[0].groups {
		old, ok := before[0].find(g.label)
		if !ok {
			_, _ = fmt.Fprintf(out, "\nonly NEW has: %s\n", g.label)
			continue
		}
		if err := printGroup(out, g, old, before, after); err != nil {
			return err
		}
	}
	for _, g := range before[0].groups {
		if _, ok := after[0].find(g.label); !ok {
			_, _ = fmt.Fprintf(out, "\nonly OLD has: %s (-rename old=new pairs what was renamed)\n", g.label)
		}
	}
	return nil
}

func printGroup(out io.Writer, g, old group, before, after []report) error {
	if g.label != "" {
		_, _ = fmt.Fprintf(out, "\n%s\n", g.label)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(w, "round\t\t")
	var names []string
	for _, f := range g.figures {
		if _, ok := old.find(f.name); !ok {
			continue
		}
		names = append(names, f.name)
		_, _ = fmt.Fprint(w, f.name, "\t")
	}
	_, _ = fmt.Fprintln(w)
	a, b := series(before, g.label, names), series(after, g.label, names)
	for round := range before {
		printRow(w, strconv.Itoa(round+1), "OLD", a, func(list []float64) float64 { return list[round] })
		printRow(w, strconv.Itoa(round+1), "NEW", b, func(list []float64) float64 { return list[round] })
	}
	printRow(w, "median", "OLD", a, median)
	printRow(w, "median", "NEW", b, median)
	rows := [4]string{"NEW/OLD\t\t", "90 % from\t\t", "90 % to\t\t", "differs\t\t"}
	for i := range names {
		r := compareMedians(a[i], b[i], seed)
		differs := "no"
		switch {
		case len(before) < enoughRounds || math.IsNaN(r.value):
			differs = "?"
		case r.differs():
			differs = "yes"
		}
		for row, text := range []string{number(r.value), number(r.low), number(r.high), differs} {
			rows[row] += text + "\t"
		}
	}
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, row)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return oneSided(out, g, old)
}

// oneSided prints the figures that only one side has.
func oneSided(out io.Writer, g, old group) error {
	for _, x := range []struct {
		side    string
		of, not group
	}{{"NEW", g, old}, {"OLD", old, g}} {
		for _, f := range x.of.figures {
			if _, ok := x.not.find(f.name); ok {
				continue
			}
			if _, err := fmt.Fprintf(out, "only %s has: %s\n", x.side, f.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// series returns the values of each figure, one per round; NaN where a round has none.
func series(runs []report, label string, names []string) [][]float64 {
	out := make([][]float64, len(names))
	for i, name := range names {
		for _, r := range runs {
			v := math.NaN()
			if g, ok := r.find(label); ok {
				if found, ok := g.find(name); ok {
					v = found
				}
			}
			out[i] = append(out[i], v)
		}
	}
	return out
}

func printRow(w io.Writer, round, side string, columns [][]float64, value func([]float64) float64) {
	_, _ = fmt.Fprint(w, round, "\t", side, "\t")
	for _, values := range columns {
		_, _ = fmt.Fprint(w, number(value(values)), "\t")
	}
	_, _ = fmt.Fprintln(w)
}

// number formats small values with three decimals and large ones with none; "-" for no number.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.Abs(v) >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
}
