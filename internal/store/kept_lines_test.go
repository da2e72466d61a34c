package store

import (
	"errors"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

// A list whose lines a guard refuses is not lost: it is kept, and entered once the guard accepts it. Meanwhile nobody may take the absence of
// a number in it for a proof.
func TestLinesThatAGuardRefusesAreKeptAndEnteredLater(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	c.pair(t, "pay", 10_000, 100, 200)
	c.refuse(t, "effects", "effects_of_the_test_ck", "amount <> 7777")
	list := []refund.ListedEffect{foreign("re_1", 55), foreign("re_2", 7777)}
	for range 2 { // the channel is asked again
		if err := c.EnterLines(t.Context(), c.tenant.ID, "pay", "list", list, true, c.contract); !errors.Is(err, refund.ErrLinesKept) {
			t.Fatalf("%v, want ErrLinesKept", err)
		}
	}
	if got := c.text(t, `SELECT concat_ws(' ', why, tries, jsonb_array_length(lines)) FROM kept_lines`); got != "effects_of_the_test_ck 2 2" {
		t.Errorf("kept %q", got)
	}
	c.sweepAnHourLater(t)
	if n := c.count(t, `SELECT count(*) FROM kept_lines WHERE tries = 3`); n != 1 {
		t.Error("lines that are refused again do not stay kept")
	}
	if _, err := c.pool.Exec(t.Context(), `ALTER TABLE effects DROP CONSTRAINT effects_of_the_test_ck`); err != nil {
		t.Fatal(err)
	}
	c.sweepAnHourLater(t)
	c.wantLine(t, "entered later", "pay", "re_2", refund.EffectMoved, 7832, 0)
	if n := c.count(t, `SELECT count(*) FROM kept_lines`); n != 0 {
		t.Errorf("%d lists are still kept", n)
	}
}

func (c *testDecisions) sweepAnHourLater(t *testing.T) {
	t.Helper()
	if _, err := c.pool.Exec(t.Context(), `UPDATE kept_lines SET tried_at = tried_at - interval '61 minutes'`); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Sweep(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
}
