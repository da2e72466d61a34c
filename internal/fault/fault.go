// Package fault lets a test kill the process at a chosen point: before or after a durable write or an external effect, or
// between an effect and its answer. The points are named constants (points.go). Nothing is armed unless a command was
// started with the hidden flag --fault or REFUNDRY_FAULT; until then a point costs one atomic load.
//
// It is the only package with state of its own, so that a point can be added without passing a registry to it.
package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
)

// registry is what Arm has set up.
type registry struct {
	hits   [count]atomic.Int64
	target Name // count = none, passes are counted only
	nth    int64
	out    io.Writer
	kill   func()
}

var armed atomic.Pointer[registry]

// Point marks a place where a process can be killed.
func Point(n Name) {
	if r := armed.Load(); r != nil {
		r.hit(n)
	}
}

func (r *registry) hit(n Name) {
	hits := r.hits[n].Add(1)
	if n != r.target || hits != r.nth {
		return
	}
	_, _ = fmt.Fprintf(r.out, "%s%s:%d\n", killedPrefix, n, hits) // the process ends even if the line cannot be written
	r.kill()
	select {} // this goroutine does nothing more
}

// killedPrefix begins the line that a process writes immediately before it kills itself.
const killedPrefix = "refundry: fault: killed at "

// Killed returns the point in a line that a process wrote immediately before it killed itself.
func Killed(line string) (text string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), killedPrefix)
	text, _, _ = strings.Cut(rest, ":")
	return text, ok
}

// Config configures Arm.
type Config struct {
	Spec string    // "NAME:N" = kill at the N-th pass of a point; "count" = count only; "" = nothing
	Out  io.Writer // gets a line immediately before the kill
	Kill func()    // ends the process at once
}

// Arm arms the points of a specification. Call it at the start of a process, before anything runs.
func Arm(cfg Config) error {
	if cfg.Spec == "" {
		return nil
	}
	if cfg.Out == nil || cfg.Kill == nil {
		return errors.New("fault: Out and Kill are required")
	}
	r := &registry{target: count, out: cfg.Out, kill: cfg.Kill}
	if cfg.Spec != "count" {
		name, times, _ := strings.Cut(cfg.Spec, ":")
		nth, err := strconv.ParseInt(times, 10, 64)
		target, known := find(name)
		if err != nil || nth < 1 || !known {
			return fmt.Errorf("fault: %q is not NAME:N with a known name, nor count", cfg.Spec)
		}
		r.target, r.nth = target, nth
	}
	armed.Store(r)
	return nil
}

func find(text string) (Name, bool) {
	for i, p := range table {
		if p.Text == text {
			return Name(i), true // #nosec G115 -- the table is shorter than a byte's range
		}
	}
	return count, false
}

// Report returns the passes of every point so far as one JSON object; nil when nothing is armed.
func Report() []byte {
	r := armed.Load()
	if r == nil {
		return nil
	}
	hits := make(map[string]int64, count)
	for i := range r.hits {
		hits[table[i].Text] = r.hits[i].Load()
	}
	text, err := json.Marshal(hits)
	if err != nil { // names and numbers
		return nil
	}
	return text
}
