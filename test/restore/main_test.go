// Package restore restores the database of the running program in every way in which operators do it, and fails it over. A refund that was
// paid after the backup was taken must never be paid again: sending is held, and goes on after `refundry epoch expose`.
package restore

import (
	"flag"
	"testing"

	"github.com/refundry/refundry/test/e2e/harness"
)

// full runs every scenario, and waits for the longest lease instead of moving it into the past.
var full = flag.Bool("full", false, "run every scenario with the real waits")

func TestMain(m *testing.M) {
	harness.Plain() // without the race detector: the program is started many times
	harness.Main(m)
}
