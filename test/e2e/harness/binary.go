// Package harness runs the program for end-to-end tests as its users do: as processes that can be killed at any time,
// called over HTTP, with a simulated channel whose record shows what really happened.
//
// Everything that a test starts ends with the test, by process id, also when the test fails.
package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Patience limits every single step of starting and stopping; machines that build and test at the same time are slow.
const Patience = 90 * time.Second

// sitesAtOnce is the number of tests that run at the same time; they mostly wait for leases and visibility.
const sitesAtOnce = "8"

// Main runs the tests of a package and removes the program that Binary built. A leaked goroutine fails the run.
func Main(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", sitesAtOnce); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if dir := built.dir; dir != "" {
			_ = os.RemoveAll(dir)
		}
		os.Exit(code)
	}))
}

// built is the program, built once per test process.
var built struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// Binary builds cmd/server once and returns the path of the program.
func Binary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() { built.err = build() })
	if built.err != nil {
		t.Fatalf("build the program: %v", built.err)
	}
	return built.path
}

func build() (err error) {
	if built.dir, err = os.MkdirTemp("", "refundry-e2e-bin-"); err != nil {
		return err
	}
	built.path = filepath.Join(built.dir, "refundry")
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	args := slices.Concat([]string{"build"}, buildFlags, []string{"-o", built.path, "github.com/refundry/refundry/cmd/server"})
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}

// environment returns the environment without the REFUNDRY_ variables, which would change what the program does.
func environment(extra []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "REFUNDRY_") })
	return append(env, extra...)
}

// Result is the output of a command that ended by itself.
type Result struct {
	Exit           int
	Stdout, Stderr string
}

// Verb runs a command of the program to its end. env are additional variables, NAME=value.
func Verb(t testing.TB, env []string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary(t), args...)
	cmd.Env, cmd.SysProcAttr = environment(env), endWithParent()
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("refundry %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return Result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// MustVerb runs a command that must succeed and returns its output.
func MustVerb(t testing.TB, args ...string) string {
	t.Helper()
	r := Verb(t, nil, args...)
	if r.Exit != 0 {
		t.Fatalf("refundry %s: exit %d: %s", strings.Join(args, " "), r.Exit, r.Stderr)
	}
	return r.Stdout
}
