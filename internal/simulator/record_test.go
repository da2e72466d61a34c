package simulator_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/simulator"
)

func recordPath(dir string) string { return filepath.Join(dir, "simulator.jsonl") }

// written makes a record of three refunds and returns its folder and bytes.
func written(t *testing.T) (string, []byte) {
	t.Helper()
	b := start(t, simulator.Config{})
	for _, n := range []string{"n1", "n2", "n3"} {
		b.send("demo", n)
	}
	b.stop()
	raw, err := os.ReadFile(recordPath(b.dir))
	if err != nil {
		t.Fatal(err)
	}
	return b.dir, raw
}

func TestTornLastLineIsDropped(t *testing.T) {
	t.Parallel()
	dir, raw := written(t)
	lastLine := bytes.LastIndexByte(raw[:len(raw)-1], '\n') + 1
	for cut := lastLine + 1; cut < len(raw); cut += 37 {
		if err := os.WriteFile(recordPath(dir), raw[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		b := start(t, simulator.Config{Dir: dir})
		b.wantEffects("n2", 1)
		b.wantEffects("n3", 0) // an unfinished line was not answered
		if a := b.send("demo", "n4"); a.status != 200 {
			t.Errorf("send after a torn line: %v", a)
		}
		b = b.restart(simulator.Config{})
		b.wantEffects("n4", 1)
		b.stop()
	}
}

func TestTornFirstLineStartsAnew(t *testing.T) {
	t.Parallel()
	dir, raw := written(t)
	if err := os.WriteFile(recordPath(dir), raw[:20], 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, simulator.Config{Dir: dir}).wantEffects("n1", 0)
}

func TestDamageIsRefused(t *testing.T) {
	t.Parallel()
	dir, raw := written(t)
	lines := bytes.SplitAfter(raw, []byte("\n"))
	damaged := map[string][]byte{
		"changed amount": bytes.Replace(raw, []byte(`"amount":1250`), []byte(`"amount":1350`), 1),
		"missing line":   bytes.Join([][]byte{lines[0], lines[1], lines[3]}, nil),
		"line twice":     bytes.Join([][]byte{lines[0], lines[1], lines[1], lines[2]}, nil),
		"no first line":  bytes.Join(lines[1:], nil),
		"garbage":        append(bytes.Clone(raw), "garbage\n"...),
		"empty line":     append(bytes.Clone(raw), '\n'),
		"zeros":          append(append(bytes.Clone(raw), make([]byte, 100)...), '\n'),
		"endless line":   append(append(bytes.Clone(raw), bytes.Repeat([]byte("x"), 1<<17)...), '\n'),
	}
	for name, content := range damaged {
		if err := os.WriteFile(recordPath(dir), content, 0o600); err != nil {
			t.Fatal(err)
		}
		sim, err := simulator.New(simulator.Config{Dir: dir})
		if !errors.Is(err, simulator.ErrCorrupt) {
			t.Errorf("%s: New gave %v, want ErrCorrupt", name, err)
		}
		if sim != nil {
			_ = sim.Close()
		}
		if left, err := os.ReadFile(recordPath(dir)); err != nil || !bytes.Equal(left, content) {
			t.Errorf("%s: a refused record was changed (%v)", name, err)
		}
	}
}

func TestARecordHasOneProcess(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	if sim, err := simulator.New(simulator.Config{Dir: b.dir}); err == nil {
		_ = sim.Close()
		t.Error("a second simulator opened the same record")
	}
}

// TestClockSteppingBackUndoesNothing sets the clock back, also between two runs.
func TestClockSteppingBackUndoesNothing(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "pending=1", PendingDelay: time.Minute})
	b.send("demo", "n1")
	b.clock.Add(time.Minute)
	b.wantEffects("n1", 1)
	b.clock.Add(-time.Hour)
	b.wantEffects("n1", 1)
	if err := b.sim.SetFaults(""); err != nil {
		t.Fatal(err)
	}
	b.send("demo", "n2")
	b = b.restart(simulator.Config{})
	b.wantEffects("n1", 1)
	b.wantEffects("n2", 1)
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]simulator.Config{
		"profile": {Accounts: map[string]simulator.Account{"a": {Profile: "odd"}}},
		"account": {Accounts: map[string]simulator.Account{"a b": {Profile: simulator.Blind}}},
		"faults":  {Faults: "odd=1"},
	} {
		cfg.Dir = t.TempDir()
		if sim, err := simulator.New(cfg); err == nil {
			_ = sim.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}
