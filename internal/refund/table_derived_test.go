package refund

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated files instead of comparing them")

// The page for people is generated from the table.
func TestStateMachinePage(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "state-machine.md")
	want := StateMachineMarkdown()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s differs from the table; run: go test ./internal/refund -run StateMachine -update", path)
	}
}

// The transitions of the database and of the table are the same.
func TestDatabaseAllowsTheTablesTransitions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "migrations", "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	var body string
	function := regexp.MustCompile(`(?s)CREATE (?:OR REPLACE )?FUNCTION refunds_transitions\(\).*?\$\$(.*?)\$\$`)
	for _, f := range files { // sorted by number: the last definition counts
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			body = m[1]
		}
	}
	allowed := transitionsIn(body)
	if len(allowed) == 0 {
		t.Fatal("the migrations have no refunds_transitions()")
	}
	made := Transitions()
	for _, m := range made {
		if !slices.Contains(allowed, m) {
			t.Errorf("the table can make %s, the database refuses it", m)
		}
	}
	for _, a := range allowed {
		if !slices.Contains(made, a) {
			t.Errorf("the database allows %s, no rule of the table makes it", a)
		}
	}
}

// transitionsIn returns the quoted FROM>TO of a function's body, whatever the names of the states contain.
func transitionsIn(body string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`'([^'>]+>[^'>]+)'`).FindAllStringSubmatch(body, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestATransitionIsReadWithTheWholeNamesOfItsStates(t *testing.T) {
	t.Parallel()
	got, want := transitionsIn(`SELECT ARRAY['ON_HOLD>SUCCESS', 'PENDING>ON_HOLD_2']`), []string{"ON_HOLD>SUCCESS", "PENDING>ON_HOLD_2"}
	if !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

// A state belongs to exactly one group; a new state that nobody put into one fails here.
func TestEveryStateWaitsOrIsExposedOrIsFinal(t *testing.T) {
	t.Parallel()
	for _, s := range States() {
		if n := count(s == StatePending, s.MustBeExposed(), s.Final()); n != 1 {
			t.Errorf("%s is in %d of the groups PENDING, exposed and final, want one", s, n)
		}
	}
}

func count(in ...bool) (n int) {
	for _, b := range in {
		if b {
			n++
		}
	}
	return n
}

// A state is final when no send starts in it and no send leads to it (PROCESSING is a send in progress).
func TestNoSendStartsInAFinalState(t *testing.T) {
	t.Parallel()
	claimed := map[State]bool{}
	for _, row := range table() {
		if row.fact != ClaimSend {
			continue
		}
		for _, s := range row.in {
			claimed[s] = true
		}
		row.transitions(func(_, to State) { claimed[to] = true })
	}
	for _, s := range States() {
		if s.Final() == claimed[s] {
			t.Errorf("%s: Final()=%v, but claimed=%v", s, s.Final(), claimed[s])
		}
	}
}

// Every rule has an id: journal rows and coverage name it.
func TestRulesAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range table() {
		if row.id == "" || row.doc == "" || row.fact == "" || len(row.in) == 0 || len(row.moves) == 0 || seen[row.id] {
			t.Errorf("rule %q of %q is incomplete or a duplicate", row.id, row.fact)
		}
		if strings.ContainsAny(row.doc, "|\n") {
			t.Errorf("rule %q: its text breaks the page", row.id)
		}
		seen[row.id] = true
	}
}
