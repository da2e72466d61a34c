// Package crash kills the program at every fault point, under load, and then checks three independent sources: the answers
// to the callers, the result of `refundry verify` on the database, and the record of the channel.
package crash

import (
	"flag"
	"testing"

	"github.com/refundry/refundry/test/e2e/harness"
)

// kills is the number of kills; 0 = one at each point.
var kills = flag.Int("kills", 0, "number of kills; 0 = one at each fault point")

func TestMain(m *testing.M) {
	harness.Plain() // without the race detector: the program is started for every kill
	harness.Main(m)
}
