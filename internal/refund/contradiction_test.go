package refund

import (
	"slices"
	"testing"
)

func TestLinesThatGiveOneIDTwoMeaningsProveNothing(t *testing.T) {
	t.Parallel()
	line := func(number, id string, amount int64, status FactKind) ListedEffect {
		return ListedEffect{Number: number, ChannelRefundID: id, Amount: amount, Currency: "USD", Status: status}
	}
	for name, c := range map[string]struct {
		lines []ListedEffect
		want  []bool
	}{
		"two numbers":               {[]ListedEffect{line("n1", "x", 5, Succeeded), line("n2", "x", 5, Succeeded), line("n3", "y", 5, Succeeded)}, []bool{true, true, false}},
		"two amounts":               {[]ListedEffect{line("", "x", 5, Succeeded), line("", "x", 6, Succeeded)}, []bool{true, true}},
		"a third line between":      {[]ListedEffect{line("", "x", 5, Succeeded), line("n1", "x", 5, Succeeded), line("n2", "x", 5, Succeeded)}, []bool{true, true, true}},
		"the same line twice":       {[]ListedEffect{line("n1", "x", 5, Succeeded), line("n1", "x", 5, Succeeded)}, []bool{false, false}},
		"the status has risen":      {[]ListedEffect{line("n1", "x", 5, Acknowledged), line("n1", "x", 5, Succeeded)}, []bool{false, false}},
		"one line has no number":    {[]ListedEffect{line("", "x", 5, Succeeded), line("n1", "x", 5, Succeeded)}, []bool{false, false}},
		"lines without an id":       {[]ListedEffect{line("n1", "", 5, Succeeded), line("n2", "", 6, Succeeded)}, []bool{false, false}},
		"two refunds of one amount": {[]ListedEffect{line("n1", "x", 5, Succeeded), line("n2", "y", 5, Succeeded)}, []bool{false, false}},
	} {
		MarkConflicts(c.lines)
		var got []bool
		for _, l := range c.lines {
			got = append(got, l.Names.Conflict != "")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: marked %v, want %v", name, got, c.want)
		}
	}
}
