// Package crash kills the program at every place that internal/fault names, under load, and judges afterwards by three
// witnesses that do not know each other: what the callers were told, what `refundry verify` finds in the database, and the
// record of the channel.
package crash

import (
	"flag"
	"testing"

	"github.com/refundry/refundry/test/e2e/harness"
)

// kills is how many are wanted; 0 = each place once.
var kills = flag.Int("kills", 0, "how often the program is killed; 0 = once at each place")

func TestMain(m *testing.M) {
	harness.Plain() // the program is started for every kill
	harness.Main(m)
}
