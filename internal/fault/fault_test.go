package fault

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func disarm(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { armed.Store(nil) })
}

func TestEveryPointHasItsOwnName(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+(-[a-z]+)*(\.[a-z]+(-[a-z]+)*)?$`)
	seen := map[string]bool{}
	for i, p := range Points() {
		if !form.MatchString(p.Text) || p.Means == "" || seen[p.Text] {
			t.Errorf("point %d: %q (%q) needs a name of its own and a meaning", i, p.Text, p.Means)
		}
		seen[p.Text] = true
	}
	if len(seen) < 40 {
		t.Errorf("%d points, want at least 40", len(seen))
	}
}

func TestEveryWrittenPointIsFollowedByItsCommit(t *testing.T) {
	for i, p := range Points() {
		what, written := strings.CutSuffix(p.Text, ".written")
		if !written || strings.HasSuffix(what, "file") || what == "record" {
			continue
		}
		if next := Name(i + 1).String(); next != what+".committed" { // #nosec G115 -- the table is shorter than a byte's range
			t.Errorf("%s is followed by %s", p.Text, next)
		}
	}
}

func TestKillsAtTheChosenPass(t *testing.T) {
	disarm(t)
	var out bytes.Buffer
	killed := make(chan struct{})
	if err := Arm(Config{Spec: DoorRead.String() + ":2", Out: &out, Kill: func() { close(killed) }}); err != nil {
		t.Fatal(err)
	}
	Point(DoorRead)
	Point(DoorBegin)
	select {
	case <-killed:
		t.Fatal("killed at the first pass, or at another point")
	default:
	}
	go Point(DoorRead) // a goroutine that is killed here never returns
	<-killed
	if text, ok := Killed(out.String()); !ok || text != DoorRead.String() {
		t.Errorf("wrote %q, want the name of the point", out.String())
	}
}

func TestCounts(t *testing.T) {
	disarm(t)
	if Report() != nil {
		t.Error("a report although nothing is armed")
	}
	if err := Arm(Config{Spec: "count", Out: &bytes.Buffer{}, Kill: func() { t.Error("killed while counting") }}); err != nil {
		t.Fatal(err)
	}
	Point(StepDone)
	Point(StepDone)
	var hits map[string]int64
	if err := json.Unmarshal(Report(), &hits); err != nil || hits[StepDone.String()] != 2 || len(hits) != int(count) {
		t.Errorf("%v %d of %d points, %s passed %d times, want 2", err, len(hits), count, StepDone, hits[StepDone.String()])
	}
}

func TestUnknownSpecificationsAreRefused(t *testing.T) {
	disarm(t)
	for _, spec := range []string{"door.begin", "door.begin:0", "door.begin:x", "nowhere:1", "on"} {
		if err := Arm(Config{Spec: spec, Out: &bytes.Buffer{}, Kill: func() {}}); err == nil || armed.Load() != nil {
			t.Errorf("%q: %v, want an error and nothing armed", spec, err)
		}
	}
}

func BenchmarkPointOff(b *testing.B) {
	for b.Loop() {
		Point(DoorBegin)
	}
}
