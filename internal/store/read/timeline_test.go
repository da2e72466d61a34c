package read

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTheContractNamesTheRowsThatATimelineShows: of a timeline and of a payment.
func TestTheContractNamesTheRowsThatATimelineShows(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile("../../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"at most the newest %d rows", "the newest %d effects"} {
		if sentence := fmt.Sprintf(want, timelineRows); !strings.Contains(string(contract), sentence) {
			t.Errorf("the contract does not say %q", sentence)
		}
	}
}
