package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of a whole run.
const (
	leastMutants  = 800
	mostPerCent   = 5 // listed survivors
	resultsPath   = "bin/mutants.tsv"
	reviewedPath  = "test/mutants/equivalent.txt"
	progressEvery = 50
)

var packages = []string{"internal/refund", "internal/refund/intake", "internal/refund/audit"}

func main() {
	sample := flag.Int("sample", 0, "run this many mutants, chosen by hash; 0 = all")
	only := flag.String("only", "", "run the mutants whose package, function or text contains this")
	jobs := flag.Int("jobs", 2, "mutants at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *sample, *only, *jobs); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func run(ctx context.Context, sample int, only string, jobs int) error {
	var all []mutant
	for _, dir := range packages {
		list, err := mutantsOf(dir)
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return !strings.Contains(m.key, only) })
	if sample > 0 {
		slices.SortFunc(chosen, func(a, b mutant) int { return cmp.Compare(drawOf(a), drawOf(b)) })
		chosen = chosen[:min(sample, len(chosen))]
	}
	reviewed, err := readTable(reviewedPath)
	if err != nil {
		return err
	}
	began := time.Now()
	results, ran, err := runAll(ctx, chosen, jobs)
	if err != nil {
		return err
	}
	minutes := time.Since(began).Minutes()
	fmt.Printf("%d mutants, %d of them run now in %.1f minutes; in all there are %d\n", len(chosen), ran, minutes, len(all))
	return judge(chosen, results, reviewed, len(chosen) == len(all))
}

func drawOf(m mutant) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(m.key))) }

// runAll runs the mutants that have no result yet and returns the results of all, by key.
func runAll(ctx context.Context, chosen []mutant, jobs int) (results map[string]string, ran int, err error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, 0, err
	}
	stored, err := readTable(resultsPath)
	if err != nil {
		return nil, 0, err
	}
	results = map[string]string{}
	var open []mutant
	for _, m := range chosen {
		if r, fn, _ := strings.Cut(stored[m.key], "\t"); fn == m.fn && r != survived {
			results[m.key] = r
		} else {
			open = append(open, m)
		}
	}
	file, err := os.OpenFile(resultsPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	tmp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.RemoveAll(tmp)) }()
	if err := (tester{root, tmp}).baseline(ctx, packages); err != nil {
		return nil, 0, err
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	queue, failed := make(chan mutant, len(open)), make(chan error, jobs)
	for _, m := range open {
		queue <- m
	}
	close(queue)
	for i := range jobs {
		t := tester{root, filepath.Join(tmp, fmt.Sprint(i))}
		group.Go(func() {
			err := os.Mkdir(t.tmp, 0o700)
			for m := range queue {
				var r string
				if err == nil {
					r, err = t.run(ctx, m)
				}
				if err != nil {
					failed <- err
					return
				}
				mu.Lock()
				results[m.key] = r
				_, err = fmt.Fprintf(file, "%s\t%s\t%s\n", m.key, r, m.fn)
				if ran++; ran%progressEvery == 0 {
					fmt.Printf("%s %d of %d\n", time.Now().Format(time.TimeOnly), ran, len(open))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	close(failed)
	return results, ran, <-failed
}

// judge prints the survivors that nobody has reviewed, and returns an error unless the tests and the list are complete.
func judge(chosen []mutant, results, reviewed map[string]string, whole bool) error {
	count, faults := map[string]int{}, 0
	for _, m := range chosen {
		r := results[m.key]
		count[r]++
		listed := reviewed[m.key] != ""
		if r == survived && !listed || r != survived && listed {
			faults++
			fmt.Printf("%s, listed %t: %s: %s\n", r, listed, m.file, m.key)
		}
		delete(reviewed, m.key)
	}
	valid := count[killed] + count[survived]
	fmt.Printf("%d killed, %d survived, %d do not compile\n", count[killed], count[survived], count[invalid])
	if whole {
		for key := range reviewed {
			faults++
			fmt.Printf("listed, and no mutant: %s\n", key)
		}
		if valid < leastMutants || count[survived]*100 > valid*mostPerCent {
			return fmt.Errorf("%d mutants (at least %d are needed), %d survivors (at most %d %%)", valid, leastMutants, count[survived], mostPerCent)
		}
	}
	if faults > 0 {
		return fmt.Errorf("%d survivors without a test or a line in %s, or lines that are wrong", faults, reviewedPath)
	}
	return nil
}

// readTable reads lines of a function, a change and the rest, separated by tabs. The last line of a key counts; # begins a comment.
func readTable(path string) (map[string]string, error) {
	text, err := os.ReadFile(path) // #nosec G304 -- one of two constants
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if part := strings.SplitN(strings.TrimSpace(line), "\t", 3); len(part) == 3 && line[0] != '#' {
			out[part[0]+"\t"+part[1]] = part[2]
		}
	}
	return out, nil
}
