package refund

import (
	"fmt"
	"slices"
	"strings"
)

// Transitions returns every change of state that facts and decisions can make, as "FROM>TO". The database allows exactly these
// (refunds_transitions in the migrations).
func Transitions() []string {
	seen := map[string]bool{}
	eachTransition(func(_ rule, t string) { seen[t] = true })
	var out []string
	for _, from := range States() {
		for _, to := range States() {
			if t := string(from) + ">" + string(to); seen[t] {
				out = append(out, t)
			}
		}
	}
	return out
}

// eachTransition passes every change of state of both tables to yield, with the rule that makes it.
func eachTransition(yield func(row rule, transition string)) {
	for _, rows := range [][]rule{stateTable, decisionTable} {
		for _, row := range rows {
			row.transitions(func(from, to State) { yield(row, string(from)+">"+string(to)) })
		}
	}
}

// transitions passes every change of state that the rule can make to yield.
func (row rule) transitions(yield func(from, to State)) {
	for _, in := range row.in {
		at := in
		for _, m := range row.moves {
			if m.to != "" && m.to != at {
				yield(at, m.to)
				at = m.to
			}
		}
	}
}

// StateMachineMarkdown returns docs/state-machine.md: the tables of this package, for people.
func StateMachineMarkdown() string {
	var b strings.Builder
	b.WriteString("# The states of a refund\n\n")
	b.WriteString("Generated from the tables in `internal/refund/table.go` and `decision_table.go`; do not edit. To generate it again:\n\n")
	b.WriteString("    go test ./internal/refund -run StateMachine -update\n\n")
	writeDiagram(&b)
	b.WriteString("\nA case is not a state but a mark beside it: a person must review the refund. " +
		"A final state is left only on proof that money moved or came back.\n")
	b.WriteString("\n## The table\n\n")
	b.WriteString("The rows of one fact are tried from the top, and the first that fits applies. " +
		"A fact without a row is stored as evidence and changes no state.\n")
	b.WriteString("After each fact the exposure is computed again. When nothing is exposed any more, the rows of `settled` follow in the same transaction.\n")
	b.WriteString("`lease_end`, `settled`, `key_expired` and `deadline` are our own conclusions from time and missing evidence. " +
		"They are entered only if they still hold when the refund is locked.\n\n")
	writeRows(&b, stateTable)
	b.WriteString("\n## Decisions of people\n\n")
	b.WriteString("A decision is proposed by one actor for an open case and approved by another. " +
		"It takes effect when no earlier request can be executed any more, and closes the case.\n\n")
	writeRows(&b, decisionTable)
	b.WriteString("\n## Allowed transitions\n\nThe database refuses every other transition.\n\n")
	for _, t := range Transitions() {
		fmt.Fprintf(&b, "- %s\n", strings.Replace(t, ">", " → ", 1))
	}
	return b.String()
}

// writeDiagram writes one arrow per transition, labelled with the facts and decisions that cause it.
func writeDiagram(b *strings.Builder) {
	causes := map[string][]string{}
	eachTransition(func(row rule, t string) {
		if f := JournalKind(row.fact); !slices.Contains(causes[t], f) {
			causes[t] = append(causes[t], f)
		}
	})
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> PENDING\n")
	for _, t := range Transitions() {
		from, to, _ := strings.Cut(t, ">")
		fmt.Fprintf(b, "    %s --> %s : %s\n", from, to, strings.Join(causes[t], ", "))
	}
	for _, s := range States() {
		if s.Final() {
			fmt.Fprintf(b, "    %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n")
}

// writeRows writes a table, the rules of one fact together and in the order in which they are tried.
func writeRows(b *strings.Builder, rows []rule) {
	b.WriteString("| fact | in state | when | new state | also | meaning |\n|---|---|---|---|---|---|\n")
	var facts []FactKind
	byFact := map[FactKind][]rule{}
	for _, row := range rows {
		if byFact[row.fact] == nil {
			facts = append(facts, row.fact)
		}
		byFact[row.fact] = append(byFact[row.fact], row)
	}
	for _, f := range facts {
		for _, row := range byFact[f] {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", JournalKind(f), statesText(row.in), conditionsText(row), movesText(row.moves),
				mutationsText(row.moves), row.doc)
		}
	}
}

func statesText(in []State) string {
	if len(in) == len(States()) {
		return "any"
	}
	names := make([]string, len(in))
	for i, s := range in {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// conditionsText returns the conditions of a rule. A conclusion is accepted before its rule is chosen; settled also follows
// from other facts.
func conditionsText(row rule) string {
	var names []string
	if row.fact.Conclusion() && row.fact != Settled {
		names = append(names, "the conclusion still holds")
	}
	for _, g := range row.when {
		names = append(names, g.name)
	}
	return strings.Join(names, "; ")
}

func movesText(moves []move) string {
	var names []string
	for _, m := range moves {
		if m.to != "" {
			names = append(names, string(m.to))
		}
	}
	if names == nil {
		return "stays"
	}
	return strings.Join(names, ", then ")
}

func mutationsText(moves []move) string {
	var names []string
	for _, m := range moves {
		for _, x := range m.do {
			names = append(names, x.name)
		}
	}
	return strings.Join(names, "; ")
}
