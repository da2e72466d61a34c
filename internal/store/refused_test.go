package store

import (
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// refuse adds a constraint to the database that refuses the booking of amounts of 7777, as a guard would that our own checks do not repeat.
func (f *testWorkflow) refuse(t *testing.T, table, constraint, check string) {
	t.Helper()
	if _, err := f.pool.Exec(t.Context(), "ALTER TABLE "+table+" ADD CONSTRAINT "+constraint+" CHECK ("+check+") NOT VALID"); err != nil {
		t.Fatal(err)
	}
}

func TestAnAnswerThatAGuardRefusesIsKeptAsEvidence(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	var guards []string
	f.cfg.FactRefused = func(guard string) { guards = append(guards, guard) }
	f.refuse(t, "effects", "effects_of_the_test_ck", "amount <> 7777")
	k := f.refund(t, "rf")
	a := succeeded(f.claim(t, k, refund.AttemptSend, 10*time.Second), "ch_1")
	a.Amount, a.Evidence = 7777, []byte(`{"status":200,"body":{"text":"as it came"}}`)
	f.enter(t, k, a)
	f.wantContradiction(t, k, refund.StateUnknown)
	got := f.text(t, `SELECT concat_ws(' ', answer, rule, evidence::text) FROM attempts`)
	for _, want := range []string{"UNKNOWN guard.refused", "effects_of_the_test_ck", "7777", "ch_1", "as it came"} {
		if !strings.Contains(got, want) {
			t.Errorf("the attempt has %s, want %q in it", got, want)
		}
	}
	if len(guards) != 1 || guards[0] != "effects_of_the_test_ck" {
		t.Errorf("counted %v, want the guard once", guards)
	}
	f.wantSound(t)
}

// The last resort: the refund's row refuses every change, and the evidence is kept on the attempt.
func TestAnAnswerIsKeptEvenIfItsRefundCannotChange(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	a := succeeded(f.claim(t, k, refund.AttemptSend, 10*time.Second), "ch_1")
	f.refuse(t, "journal", "journal_of_the_test_ck", "kind NOT IN ('succeeded', 'unknown', 'contradiction')")
	f.enter(t, k, a)
	if got := f.text(t, `SELECT concat_ws(' ', answer, evidence->>'guard', evidence->'said'->>'channelRefundId') FROM attempts`); got != "UNKNOWN journal_of_the_test_ck ch_1" {
		t.Errorf("the attempt has %q, want the answer as it was told", got)
	}
	f.wantState(t, k, refund.StateProcessing)
}

func TestANoticeThatAGuardRefusesIsKeptWithACase(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	f.refuse(t, "effects", "effects_of_the_test_ck", "amount <> 7777")
	k := f.refund(t, "rf")
	f.acked(t, k, "ch_1")
	n := notice("odd", f.number(t, k), "ch_1", refund.Succeeded)
	n.Amount = 7777
	f.receive(t, n, refund.NoticeContradicts)
	f.wantContradiction(t, k, refund.StateAccepted)
	f.wantNotice(t, "odd", 1, true)
	f.wantSound(t)
}
