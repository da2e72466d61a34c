// Command mutants changes the domain in one place at a time and runs its tests; a change that no test notices survives. A survivor
// needs a test, or a line in equivalent.txt that says why it makes no difference. CONTRIBUTING.md says how to use the program.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	killed, survived, invalid = "killed", "survived", "does not compile"
	leastMutants, mostPerCent = 800, 5 // of a whole run: mutants that compile, and survivors among them
	core                      = "internal/refund"
	stored                    = "bin/mutants.tsv"
	reviewed                  = "test/mutants/equivalent.txt"
)

// users are the packages with mutants beside the core; the tests of all of them run for a survivor of the core.
var users = []string{core + "/intake", core + "/audit", core + "/wire", core + "/event"}

// stages run the core's tests, the fastest first. Tests of planted bugs test the simulation, not the code.
var stages = [][]string{
	{"-test.skip=^Test(Simulation|SameSeed|EverySequence|TheEndDependsOnTheSet)|Planted"},
	{"-test.run=^TestSimulation$", "-seeds=400"},
	{"-test.run=^TestEverySequenceAgainstTheReference$/^classes$/^(keyed-queryable|replaying)$"},
	{"-test.run=^TestTheEndDependsOnTheSet", "-test.timeout=170s"},
}

func main() {
	sample := flag.Int("sample", 1000, "run this many mutants, chosen by hash; 0 = all")
	only := flag.String("only", "", "choose among the mutants whose package, function or change contains this")
	flag.Parse()
	var all []mutant
	for _, dir := range append([]string{core}, users...) {
		all = append(all, mutantsOf(dir)...)
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return !strings.Contains(m.key, *only) })
	if *sample > 0 {
		draw := func(m mutant) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(m.key))) }
		slices.SortFunc(chosen, func(a, b mutant) int { return cmp.Compare(draw(a), draw(b)) })
		chosen = chosen[:min(*sample, len(chosen))]
	}
	began := time.Now()
	results, ran := runAll(chosen)
	fmt.Fprintf(os.Stdout, "%d mutants of %d, %d of them run now in %.1f minutes\n", len(chosen), len(all), ran, time.Since(began).Minutes())
	must(0, judge(all, results, *only == "" && (*sample == 0 || *sample >= leastMutants)))
}

// runAll returns the results by key, and how many it has computed. It stores each as it comes; one that is stored for the same source of
// the function is not computed again, unless the mutant survived.
func runAll(chosen []mutant) (results map[string]string, ran int) {
	must(0, os.MkdirAll(filepath.Dir(stored), 0o750))
	file := must(os.OpenFile(stored, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
	root, tmp := must(os.Getwd()), must(os.MkdirTemp("", "mutants-"))
	defer func() { must(0, errors.Join(file.Close(), os.RemoveAll(tmp))) }()
	if got := (tester{root, tmp}).run(mutant{dir: core, file: core + "/decide.go"}); got != survived {
		must(0, fmt.Errorf("%s: the tests must pass without a mutant", got))
	}
	results = map[string]string{}
	before, queue := table(stored), make(chan mutant, len(chosen))
	for _, m := range chosen {
		if r, fn, _ := strings.Cut(before[m.key], "\t"); fn == m.fn && r != survived {
			results[m.key] = r
		} else {
			queue <- m
		}
	}
	close(queue)
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, name := range []string{"a", "b"} { // two at a time
		t := tester{root, filepath.Join(tmp, name)}
		must(0, os.Mkdir(t.tmp, 0o700))
		group.Go(func() {
			for m := range queue {
				r := t.run(m)
				mu.Lock()
				results[m.key] = r
				must(fmt.Fprintf(file, "%s\t%s\t%s\n", m.key, r, m.fn))
				if ran++; ran%50 == 0 {
					fmt.Fprintln(os.Stdout, time.Now().Format(time.TimeOnly), ran, "done,", len(queue), "to do")
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return results, ran
}

// judge prints the survivors that nobody has reviewed and the lines that are wrong. Both are errors; so are, in a whole run, too few
// mutants and too many survivors.
func judge(all []mutant, results map[string]string, whole bool) error {
	list, count, faults := table(reviewed), map[string]int{}, 0
	for _, m := range all {
		r, listed := results[m.key], list[m.key] != ""
		if count[r]++; r == survived && !listed || r != survived && r != "" && listed {
			faults++
			fmt.Fprintf(os.Stdout, "%s, listed %t: %s: %s\n", r, listed, m.file, m.key)
		}
		delete(list, m.key)
	}
	for key := range list {
		fmt.Fprintln(os.Stdout, "listed, and no mutant:", key)
	}
	valid, alive := count[killed]+count[survived], count[survived]
	fmt.Fprintf(os.Stdout, "%d killed, %d survived, %d do not compile\n", count[killed], alive, count[invalid])
	switch {
	case faults+len(list) > 0:
		return fmt.Errorf("%d survivors without a test or a line in %s, or wrong lines", faults+len(list), reviewed)
	case whole && (valid < leastMutants || alive*100 > valid*mostPerCent):
		return fmt.Errorf("at least %d mutants that compile are needed, and at most %d %% may survive", leastMutants, mostPerCent)
	}
	return nil
}

// table reads lines of a function, a change and the rest, separated by tabs. The last line of a key counts. A missing file is empty.
func table(path string) map[string]string {
	text, _ := os.ReadFile(path)
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if part := strings.SplitN(strings.TrimSpace(line), "\t", 3); len(part) == 3 {
			out[part[0]+"\t"+part[1]] = part[2]
		}
	}
	return out
}

// tester runs mutants in a folder of its own. root is the repository.
type tester struct{ root, tmp string }

// run compiles the package's tests with the mutant, without changing the repository, and runs them. A failure of theirs, or a time of
// more than a minute, kills the mutant.
func (t tester) run(m mutant) string {
	original := must(os.ReadFile(m.file))
	changed, overlay, bin := filepath.Join(t.tmp, "mutated.go"), filepath.Join(t.tmp, "overlay.json"), filepath.Join(t.tmp, "test")
	replace := must(json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(t.root, m.file): changed}}))
	must(0, os.WriteFile(changed, slices.Concat(original[:m.start], []byte(m.text), original[m.end:]), 0o600))
	must(0, os.WriteFile(overlay, replace, 0o600))
	if !succeeds(t.root, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+overlay, "-o", bin, "./"+m.dir) {
		return invalid
	}
	runs, others := [][]string{{}}, []string{"test", "-vet=off", "-short", "-failfast", "-timeout=60s", "-overlay=" + overlay}
	if m.dir == core {
		runs = stages
	}
	for _, args := range runs {
		if !succeeds(filepath.Join(t.root, m.dir), bin, append([]string{"-test.short", "-test.failfast", "-test.timeout=60s"}, args...)...) {
			return killed
		}
	}
	for _, dir := range users {
		others = append(others, "./"+dir)
	}
	if m.dir == core && !succeeds(t.root, "go", others...) {
		return killed
	}
	return survived
}

// succeeds runs a program for at most three minutes, with a bound on its memory: a mutant may allocate without end. If somebody
// stops the program, this one ends too, so that nothing counts as killed by it.
func succeeds(dir, name string, args ...string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -v 4000000; exec "$0" "$@"`, name}, args...)...) // #nosec G204 -- go, or tests
	c.Dir, c.WaitDelay = dir, time.Second
	err := c.Run()
	if c.ProcessState != nil && c.ProcessState.ExitCode() < 0 && ctx.Err() == nil {
		must(0, err)
	}
	return err == nil
}

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
	return v
}
