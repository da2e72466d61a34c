package migrate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

// The migrations state again what the domain says about states. These tests run the constraints and guards of the newest schema with
// every state and compare the result with the domain, so that a difference fails in whichever of the two it was made.

// Every pair of states, with all other columns as they should be: only the pair decides.
func TestSchemaTransitions(t *testing.T) {
	t.Parallel()
	allowed := refund.Transitions()
	var cases []schemaCase
	eachPairOfStates(func(from, to refund.State) {
		c := refused("refunds_transition", string(from+" to "+to), schemaMove(schemaEnter(string(to))), append(schemaReach(string(from)), schemaClear)...)
		if slices.Contains(allowed, string(from+">"+to)) {
			c.code, c.constraint = "", ""
		}
		cases = append(cases, c)
	})
	runSchemaCases(t, cases)
}

func eachPairOfStates(yield func(from, to refund.State)) {
	for _, from := range refund.States() {
		for _, to := range refund.States() {
			if from != to {
				yield(from, to)
			}
		}
	}
}

func TestSchemaStatesEnteredWhileExposedAreTheDomains(t *testing.T) {
	t.Parallel()
	allowed := refund.Transitions()
	var cases []schemaCase
	eachPairOfStates(func(from, to refund.State) {
		if !slices.Contains(allowed, string(from+">"+to)) {
			return
		}
		setup := append(schemaReach(string(from)), `UPDATE dispatches SET exposed = true`)
		c := refused("refunds_entered_exposed", string(from+" to "+to), schemaMove(schemaEnter(string(to))), setup...)
		if to.MayBeEnteredExposed() {
			c.code, c.constraint = "", ""
		}
		cases = append(cases, c)
	})
	runSchemaCases(t, cases)
}

// The row that a CHECK of refunds sees, as far as its state concerns it.
const schemaStateRow = `(SELECT '%s'::text AS state, %t AS exposed, CASE WHEN %t THEN 'epoch'::timestamptz END AS final_at,
	CASE WHEN %t THEN ` + schemaC1 + `::uuid END AS case_id, CASE WHEN %t THEN 'epoch'::timestamptz END AS next_action_at) AS refunds`

func TestSchemaChecksOfStatesAreTheDomains(t *testing.T) {
	t.Parallel()
	pool := schemaPool(t)
	idle := func(r stateRow) bool { return r.state.Final() && !r.exposed && !r.caseOpen }
	for name, want := range map[string]func(stateRow) bool{
		"refunds_state_ck":   func(r stateRow) bool { return slices.Contains(refund.States(), r.state) },
		"refunds_final_ck":   func(r stateRow) bool { return r.state.Final() == r.ended },
		"refunds_timer_ck":   func(r stateRow) bool { return idle(r) != r.timer },
		"refunds_exposed_ck": stateRow.exposureFits,
	} {
		expr := schemaNames(t, pool, `SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conname = '`+name+`' AND connamespace = 'cell_a'::regnamespace`)
		if len(expr) != 1 {
			t.Fatalf("%d constraints %s, want one", len(expr), name)
		}
		for _, r := range stateRows(name == "refunds_final_ck") {
			row := fmt.Sprintf(schemaStateRow, r.state, r.exposed, r.ended, r.caseOpen, r.timer)
			var got *bool
			if err := pool.QueryRow(t.Context(), `SELECT `+expr[0]+` FROM `+row).Scan(&got); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got == nil || *got != want(r) {
				t.Errorf("%s passes %+v: %v, the domain says %v", name, r, got != nil && *got, want(r))
			}
		}
	}
}

// stateRow is what a row of refunds says beside its state.
type stateRow struct {
	state                           refund.State
	exposed, ended, caseOpen, timer bool
}

func (r stateRow) exposureFits() bool {
	if r.exposed {
		return r.state.MayBeExposed(r.caseOpen)
	}
	return !r.state.MustBeExposed()
}

// stateRows returns every combination. final_at belongs to the state, as refunds_final_ck keeps it, unless anyEnd is set. A state that
// nobody knows is one of them where the constraint is about names.
func stateRows(anyEnd bool) []stateRow {
	var out []stateRow
	for _, s := range refund.States() {
		for bits := range 16 {
			r := stateRow{s, bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0}
			if anyEnd || r.ended == s.Final() {
				out = append(out, r)
			}
		}
	}
	return append(out, stateRow{state: "LOST", timer: true})
}
