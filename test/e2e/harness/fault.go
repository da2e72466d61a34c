package harness

import (
	"slices"
	"time"
)

// Plain builds the program without the race detector also for tests that have it: for many starts. Call it before Main.
func Plain() { buildFlags = nil }

// LaunchArmed runs `refundry dev` on the folder with orders to kill itself at a place, as internal/fault names it ("name:n"),
// and more arguments, and does not wait until it is ready.
func (d *Dev) LaunchArmed(spec string, more ...string) {
	d.t.Helper()
	plain := d.args
	d.args = slices.Concat(plain, []string{"--fault", spec}, more)
	d.Launch()
	d.args = plain
}

// EndedWithin waits for the end of the process; false = it still runs.
func (p *Process) EndedWithin(d time.Duration) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-p.ended:
		return true
	case <-limit.C:
		return false
	}
}
