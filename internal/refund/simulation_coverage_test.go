package refund

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// namedStates are states that the simulation must have reached. Each rule of the two tables is one more; some rules are
// rare.
var namedStates = []string{
	"a caller gave up before the channel executed the request", "a decision came before the horizon", "a decision was void",
	"a number was sent after a low balance", "a number was sent again after it had to pass later", "a send under a case of waiting",
	"a person answered about a line", "a person answered wrongly about a line", "a held line was covered by an open refund",
	"a line whose money has not moved was held", "two refunds may own a line",
	"a held line proved to be ours", "a held line was adopted", "a hidden refund was not found", "a key expired in doubt",
	"a key was replayed", "a line of an unknown amount was held", "an adopted line proved to be ours", "a line was adopted at once",
	"a line's id proved to be another refund's", "a new epoch", "a notice before the answer", "a notice came twice", "a notice named two refunds",
	"a number expired before it was sent again", "a payment's own case", "a decision was wrong",
	"a process was killed with a call in flight", "a refund was accepted again after a restore", "a restore removed a number",
	"a restore removed a refund", "a restore removed a success", "a restore with a send in flight", "a second number was sent",
	"a silent owner was taken over", "an answer after another owner", "an answer was entered twice", "an answer after the end",
	"an answer for a number that a restore has removed", "an answer for a refund that a restore has removed",
	"an answer whose attempt a restore has removed", "an ask was answered: moved", "an ask was answered: not done",
	"another amount than requested", "a request was executed after its owner's time", "marked while ACCEPTED", "money came back",
	"money moved after a decision said not done", "more than was captured", "somebody else refunded",
	"two refunds of a payment exposed at once", "decided: accept-as-is", "decided: confirm-not-done", "decided: confirm-success",
	"decided: resend", "decided: revoke-confirmation", "decided: wait", "line/line_held", "line/line_paired", "line/line_settled",
	"ended CANCELED", "ended FAILED", "ended REVERSED", "ended SUCCESS",
}

// reportCoverage logs how often each state was reached, and fails for one that had to be reached and was not.
func reportCoverage(t *testing.T, seen map[string]int, runs uint64) {
	t.Helper()
	reached, all := 0, 0
	var lines []string
	count := func(name string, must bool) {
		all++
		if seen[name] > 0 {
			reached++
		} else if must {
			t.Errorf("never reached: %s", name)
		}
		lines = append(lines, fmt.Sprintf("%9d  %s", seen[name], name))
	}
	for _, name := range namedStates {
		count(name, runs >= seedsForStates)
	}
	for _, sim := range slices.Concat(stateTable, decisionTable) {
		if !strings.HasPrefix(sim.id, "claim-") { // claims are written by the store's statement, not by Apply
			count(sim.id, runs >= seedsForRows)
		}
	}
	t.Logf("%d of %d states reached:\n%s", reached, all, strings.Join(lines, "\n"))
}
