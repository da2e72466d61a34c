package refund

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// namedStates are states that the simulation must have reached; each row of the two tables is one more, and some rows are rare.
var namedStates = []string{
	"a caller gave up before the channel acted", "a decision came before the horizon", "a decision was void", "a held line proved to be ours", "a held line was adopted", "a hidden refund was not found",
	"a key died in doubt", "a key was replayed", "a line of nobody's amount was held", "a line that was adopted proved to be ours", "a line was adopted at once",
	"a line's id proved to be another refund's", "a new epoch", "a notice before the answer", "a notice came twice", "a number died before it was sent again",
	"a payment's own case", "a person erred", "a process died with a call on its way", "a refund was seen again after a restore", "a restore that lost a number",
	"a restore that lost a refund", "a restore to before a success was sent", "a restore with a send on its way", "a second number was sent",
	"a silent owner was taken over", "an answer after another owner", "an answer was entered twice", "an answer after the end", "an answer for a number that a restore has cut off",
	"an answer for a refund that a restore has cut off", "an answer whose attempt a restore has cut off", "an ask found the money", "an ask was answered: not done",
	"another amount than asked for", "bytes acted after their owner's time", "marked while the channel had it", "money came back",
	"money moved against a person's word", "more than was captured", "somebody else refunded",
	"two refunds of a payment exposed at once",
	"decided: accept-as-is", "decided: confirm-not-done", "decided: confirm-success", "decided: resend", "decided: revoke-confirmation", "decided: wait",
	"line/line_held", "line/line_paired", "line/line_settled",
	"ended CANCELED", "ended FAILED", "ended REVERSED", "ended SUCCESS",
}

// reportCoverage tells how often each interesting state was reached, and fails where one was not although it had to be.
func reportCoverage(t *testing.T, seen map[string]int, stories uint64) {
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
		count(name, stories >= seedsForStates)
	}
	for _, w := range slices.Concat(stateTable, decisionTable) {
		if !strings.HasPrefix(w.id, "claim-") { // claims are written by the store's statement, not by Apply
			count(w.id, stories >= seedsForRows)
		}
	}
	t.Logf("%d of %d interesting states reached:\n%s", reached, all, strings.Join(lines, "\n"))
}
