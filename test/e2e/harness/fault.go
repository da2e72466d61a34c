package harness

import (
	"slices"
	"time"
)

// Plain builds the program without the race detector also for tests that use it, for many starts. Call it before Main.
func Plain() { buildFlags = nil }

// LaunchArmed starts `refundry dev` on the folder so that it kills itself at a fault point ("name:n"), with more arguments,
// without waiting until it is ready.
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
