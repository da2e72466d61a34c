package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Results of a mutant. A mutant that does not compile is none.
const (
	killed   = "killed"
	survived = "survived"
	invalid  = "does not compile"
)

// stages are runs of a package's test binary, the fastest first; a mutant ends with the first that fails. The sub-packages of
// refund have one. Tests of planted bugs test the simulation, not the code, and are left out.
var stages = map[string][][]string{
	"internal/refund": {
		{"-test.skip=^Test(Simulation|SameSeed|EverySequence)|Planted"},
		{"-test.run=^TestSimulation$", "-seeds=400"},
		{"-test.run=^TestEverySequenceAgainstTheReference$/^classes$/^(keyed-queryable|replaying)$"},
	},
}

// tester runs mutants in a folder of its own. root is the absolute path of the repository.
type tester struct{ root, tmp string }

// run compiles the package's tests with the mutant and returns the result.
func (t tester) run(ctx context.Context, m mutant) (string, error) {
	overlay, err := t.overlay(m)
	if err != nil {
		return "", err
	}
	bin := filepath.Join(t.tmp, "test")
	if _, err := t.command(ctx, t.root, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+overlay, "-o", bin, "./"+m.dir); err != nil {
		return invalid, ctx.Err()
	}
	list := stages[m.dir]
	if list == nil {
		list = [][]string{{}}
	}
	for _, args := range list {
		args = append([]string{"-test.short", "-test.failfast", "-test.timeout=60s"}, args...)
		if _, err := t.command(ctx, filepath.Join(t.root, m.dir), bin, args...); err != nil {
			return killed, ctx.Err()
		}
	}
	if m.dir == "internal/refund" { // the tests of the packages that use it
		_, err = t.command(ctx, t.root, "go", "test", "-vet=off", "-short", "-failfast", "-timeout=60s", "-overlay="+overlay,
			"./internal/refund/intake", "./internal/refund/wire", "./internal/refund/audit", "./internal/refund/event")
	}
	if err != nil {
		return killed, ctx.Err()
	}
	return survived, ctx.Err()
}

// overlay writes the mutated file and the file that puts it in the place of the original.
func (t tester) overlay(m mutant) (string, error) {
	original, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(t.tmp, "mutated.go")
	text := string(original[:m.start]) + m.text + string(original[m.end:])
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(t.root, m.file): changed}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(t.tmp, "overlay.json")
	return path, errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(path, replace, 0o600))
}

// command runs a program for at most three minutes. Its output is returned, and is part of no error.
func (t tester) command(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...) // #nosec G204 -- go, or the tests that it has compiled
	c.Dir, c.WaitDelay = dir, time.Second
	return c.CombinedOutput()
}

// baseline returns an error if the tests fail without a mutant: then every mutant would count as killed.
func (t tester) baseline(ctx context.Context, dirs []string) error {
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("no files in %s: %w", dir, err)
		}
		switch got, err := t.run(ctx, mutant{dir: dir, file: files[0]}); {
		case err != nil:
			return err
		case got != survived:
			return fmt.Errorf("the tests of %s fail without a mutant (%s)", dir, got)
		}
	}
	return nil
}
