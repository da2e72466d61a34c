package httpapi_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/refundry/refundry/internal/refund"
)

// mayGrow is the sentence of every schema whose values may grow.
const mayGrow = "Values may be added: accept one that you do not know."

// closeValues makes a list of each list that may grow, so that the tests notice an answer with a value that the contract does not list.
func closeValues(spec *openapi3.T) {
	for _, s := range spec.Components.Schemas {
		if values, ok := s.Value.Extensions["x-extensible-enum"].([]any); ok {
			s.Value.Enum = values
		}
	}
}

// The values that the contract lists are those of the code. A list that may grow is of answers, any other one is of requests.
func TestTheContractListsTheValuesOfTheCode(t *testing.T) {
	t.Parallel()
	spec, _ := contract(t)
	domain, intakes, bridge, server := constantsIn(t, "../refund"), constantsIn(t, "../refund/intake"), constantsIn(t, "../bridge"), constantsIn(t, ".")
	var states, actions []string
	for _, s := range refund.States() {
		states = append(states, string(s))
	}
	for _, a := range refund.Actions() {
		actions = append(actions, string(a))
	}
	same(t, "the constants of states", domain.of("State"), states)
	same(t, "the constants of actions", domain.of("Action"), actions)
	reasons := domain.of("CaseReason")
	// BUSY is answered with 409 or tried again, and LOST never leaves the Door: no delivery is traced with them.
	outcomes := append(without(intakes.of("Verdict"), "BUSY", "NOT_LOCKED"), bridge.named("outcomeParked"))
	open := map[string][]string{
		"RefundState": states, "CaseReason": reasons, "DecisionAction": actions, "Obstacle": domain.of("Obstacle"),
		"PendingReason": domain.of("PendingReason"), "AttemptKind": domain.of("AttemptKind"), "EffectStatus": domain.of("EffectStatus"),
		"KnownBy": domain.of("KnownBy"), "AttemptAnswer": domain.block("Succeeded"), "FailureCode": returnedBy(t, "../refund/derive.go", "failureCode"),
		"DecisionStatus": append(lower(domain.of("DecisionVerdict")), server.of("DecisionStatus")...),
		"EventOutcome":   server.of("EventOutcome"), "MessageOutcome": outcomes, "ParkedHow": {"accepted", "replayed", "discarded"},
		// The first row of a refund is no fact, and waiting is no row.
		"JournalKind": append(append(lower(domain.of("FactKind")), without(actions, string(refund.ActionWait))...), "requested"),
	}
	closed := map[string][]string{
		"RefundStateFilter": states, "CaseReasonFilter": reasons, "ProposedAction": actions, "MessageOutcomeFilter": outcomes,
		"EventType": intakes.of("EventType"), "CaseFilter": {"open", "none"}, "CaseState": {"open", "closed"}, "ParkedState": {"open", "done"},
		"ApprovalVerdict": {"approve", "reject"},
	}
	for name, s := range spec.Components.Schemas {
		listed, grows := s.Value.Extensions["x-extensible-enum"].([]any)
		switch {
		case grows && !strings.HasSuffix(strings.Join(strings.Fields(s.Value.Description), " "), mayGrow):
			t.Errorf("the description of %s does not end with %q", name, mayGrow)
		case grows:
			same(t, "values of "+name, texts(listed), open[name])
			delete(open, name)
		case len(s.Value.Enum) > 0:
			same(t, "values of "+name, texts(s.Value.Enum), closed[name])
			delete(closed, name)
		}
	}
	most := spec.Paths.Value("/v1/refunds").Get.Parameters.GetByInAndName("query", "state").Schema.Value.MaxItems
	if most == nil || *most != uint64(len(states)) {
		t.Errorf("the filter of states takes %v states, want all %d of them", most, len(states))
	}
	if len(open)+len(closed) > 0 {
		t.Errorf("the contract has no lists of %v %v", open, closed)
	}
}

// A list of the kind enum in an answer could never get another value without a break of the released contract.
func TestNoAnswerHasAListThatCannotGrow(t *testing.T) {
	t.Parallel()
	spec, err := openapi3.NewLoader().LoadFromFile("../../api/openapi.yaml") // as written: contract closes the lists
	if err != nil {
		t.Fatal(err)
	}
	seen := map[*openapi3.Schema]bool{}
	var walk func(where string, s *openapi3.SchemaRef)
	walk = func(where string, s *openapi3.SchemaRef) {
		if s == nil || s.Value == nil || seen[s.Value] {
			return
		}
		seen[s.Value] = true
		if len(s.Value.Enum) > 0 {
			t.Errorf("%s %s: an answer has a list that cannot grow", where, s.Ref)
		}
		for name, p := range s.Value.Properties {
			walk(where+"/"+name, p)
		}
		walk(where+"/items", s.Value.Items)
		for _, list := range []openapi3.SchemaRefs{s.Value.OneOf, s.Value.AnyOf, s.Value.AllOf} {
			for _, one := range list {
				walk(where, one)
			}
		}
		walk(where+"/*", s.Value.AdditionalProperties.Schema)
	}
	answers := 0
	for _, item := range spec.Paths.Map() {
		for _, op := range item.Operations() {
			for status, r := range op.Responses.Map() {
				for _, media := range r.Value.Content {
					answers++
					walk(fmt.Sprintf("%s %s", op.OperationID, status), media.Schema)
				}
			}
		}
	}
	if answers < 50 {
		t.Errorf("%d answers were read, want at least 50", answers)
	}
}

// Requests with a value that the contract does not list are refused, and the fault names the place and the values.
func TestAnUnknownValueOfAFilterIsRefused(t *testing.T) {
	t.Parallel()
	_, c := serve(t, nil)
	for path, want := range map[string]string{
		"/v1/refunds?state=SUCCESS,SETTLED":  "PENDING, PROCESSING",
		"/v1/cases?reason=no-automatic-stop": "success-after-end, multiple-effects",
		"/v1/cases?state=done":               "open, closed",
		"/v1/messages?outcome=taken":         "TAKEN, REPLAYED",
		"/v1/parked?state=closed":            "open, done",
		"/v1/refunds?case=closed":            "open, none",
	} {
		r := c.do("GET", path, "")
		var p struct {
			Code   string
			Errors []struct{ Parameter, Detail string }
		}
		if err := json.Unmarshal([]byte(r.body), &p); err != nil {
			t.Fatalf("%s: %v: %s", path, err, r.body)
		}
		if r.status != 400 || p.Code != "invalid-request" || len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Detail, want) ||
			!strings.Contains(path, p.Errors[0].Parameter+"=") {
			t.Errorf("%s: %d %s, want 400 with the parameter and the values %s", path, r.status, r.body, want)
		}
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func texts(values []any) (out []string) {
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func lower(values []string) (out []string) {
	for _, v := range values {
		out = append(out, strings.ToLower(v))
	}
	return out
}

func without(values []string, left ...string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(left, v) })
}

// constant is a constant of a package whose value is a text, with its block.
type constant struct {
	name, typ, value string
	block            *ast.GenDecl
}

type constants []constant

// of returns the values of a type.
func (c constants) of(typ string) (out []string) {
	for _, x := range c {
		if x.typ == typ {
			out = append(out, x.value)
		}
	}
	return out
}

// named returns the value of a constant, "" if there is none.
func (c constants) named(name string) string {
	i := slices.IndexFunc(c, func(x constant) bool { return x.name == name })
	if i < 0 {
		return ""
	}
	return c[i].value
}

// block returns the values of the block that has a constant.
func (c constants) block(name string) (out []string) {
	i := slices.IndexFunc(c, func(x constant) bool { return x.name == name })
	for _, x := range c {
		if i >= 0 && x.block == c[i].block {
			out = append(out, x.value)
		}
	}
	return out
}

// constantsIn reads the constants of a package from its source, because a new constant is nowhere else listed by itself.
func constantsIn(t *testing.T, dir string) (out constants) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, decl := range parsed(t, file).Decls {
			block, ok := decl.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST {
				continue
			}
			for _, spec := range block.Specs {
				out = append(out, constantOf(spec, block)...)
			}
		}
	}
	return out
}

func constantOf(spec ast.Spec, block *ast.GenDecl) constants {
	v, ok := spec.(*ast.ValueSpec)
	if !ok || len(v.Values) != 1 {
		return nil
	}
	literal, ok := v.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return nil
	}
	c := constant{name: v.Names[0].Name, value: unquoted(literal), block: block}
	switch typ := v.Type.(type) {
	case *ast.Ident:
		c.typ = typ.Name
	case *ast.SelectorExpr:
		c.typ = typ.Sel.Name
	}
	return constants{c}
}

// returnedBy returns the texts that a function returns.
func returnedBy(t *testing.T, file, function string) (out []string) {
	t.Helper()
	for _, decl := range parsed(t, file).Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			r, ok := n.(*ast.ReturnStmt)
			if !ok {
				return true
			}
			literal, ok := r.Results[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s returns what is no literal", function)
			}
			out = append(out, unquoted(literal))
			return true
		})
	}
	return out
}

func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func unquoted(l *ast.BasicLit) string {
	s, err := strconv.Unquote(l.Value)
	if err != nil {
		return l.Value
	}
	return s
}
