package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/refundry/refundry/api/strictjson"
)

func TestCheckTakesPlainDocuments(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		`{}`, `[]`, `"x"`, `0`, `-1`, `9007199254740993`, `null`, ` { "a" : [ 1 , true , false , null , {"b":"\u00e9\ud83d\ude00\n"} ] } `,
		`{"a":1,"A":2}`, strings.Repeat("[", 20) + strings.Repeat("]", 20),
	} {
		if f := strictjson.Check([]byte(doc)); f != nil {
			t.Errorf("Check(%s) = %v, want no fault: it is plain JSON", doc, f)
		}
	}
}

func TestCheckNamesThePlace(t *testing.T) {
	t.Parallel()
	many := make([]string, 40)
	for i := range many {
		many[i] = `"` + strings.Repeat("k", i+1) + `":0`
	}
	for _, c := range []struct {
		doc, pointer, detail string
		syntax               bool
	}{
		{"", "", "is empty", true},
		{" \n", "", "is empty", true},
		{"\xef\xbb\xbf{}", "", "is not a JSON value", true},
		{"{} {}", "", "is followed by more data", true},
		{"{\"a\":\"\xff\"}", "", "is not valid UTF-8", true},
		{`{"a":1,"a":2}`, "/a", "is there twice", false},
		{`{"a":1,"\u0061":2}`, "/a", "is there twice", false},
		{"{" + strings.Join(many, ",") + `,"kkk":1}`, "/kkk", "is there twice", false},
		{`{"x":[{"p":{"a/b~c":1,"a/b~c":2}}]}`, "/x/0/p/a~1b~0c", "is there twice", false},
		{`{"amount":1.0}`, "/amount", "must be an integer without fraction or exponent", false},
		{`{"amount":1e3}`, "/amount", "must be an integer without fraction or exponent", false},
		{`{"amount":1E+3}`, "/amount", "must be an integer without fraction or exponent", false},
		{`{"amount":-0}`, "/amount", "must not be minus zero", false},
		{`{"amount":007}`, "/amount", "must not have leading zeros", true},
		{`{"amount":+1}`, "/amount", "is not a JSON value", true},
		{`{"amount":1.}`, "/amount", "is not a number", true},
		{`{"amount":-}`, "/amount", "is not a number", true},
		{`{"amount":1e}`, "/amount", "is not a number", true},
		{`{"amount":NaN}`, "/amount", "is not a JSON value", true},
		{`{"amount":}`, "/amount", "is not a JSON value", true},
		{`{"amount":1,}`, "", "needs a member name in quotes", true},
		{`{amount:1}`, "", "needs a member name in quotes", true},
		{`{"amount" 1}`, "", "needs a colon after a member name", true},
		{`{"a":1 "b":2}`, "", "needs a comma or the end of the object", true},
		{`[1 2]`, "", "needs a comma or the end of the array", true},
		{`{"a":"x`, "/a", "ends within a string", true},
		{`{"a":`, "/a", "ends too early", true},
		{`[1`, "", "needs a comma or the end of the array", true},
		{"{\"a\":\"\n\"}", "/a", "holds an unescaped control character", true},
		{`{"a":"\x"}`, "/a", "holds an unknown escape", true},
		{`{"a":"\u12"}`, "/a", "holds an unknown escape", true},
		{`{"a":"\ud800"}`, "/a", "holds half of a surrogate pair", false},
		{`{"a":"\ud800\u0041"}`, "/a", "holds half of a surrogate pair", false},
		{`{"a":"\u0000"}`, "/a", "must not hold U+0000", false},
		{strings.Repeat("[", 21) + strings.Repeat("]", 21), strings.Repeat("/0", 20), "is nested too deeply", false},
	} {
		f := strictjson.Check([]byte(c.doc))
		if f == nil {
			t.Errorf("Check(%q) found nothing, want %s %s", c.doc, c.pointer, c.detail)
			continue
		}
		if f.Pointer != c.pointer || f.Detail != c.detail || f.Syntax != c.syntax {
			t.Errorf("Check(%q) = %q %q syntax=%v, want %q %q syntax=%v", c.doc, f.Pointer, f.Detail, f.Syntax, c.pointer, c.detail, c.syntax)
		}
	}
}

func TestElementsKeepsBadElementsApart(t *testing.T) {
	t.Parallel()
	got, f := strictjson.Elements([]byte(` [ {"a":1,"a":2} , 1.5 , "x" ] `))
	if f != nil {
		t.Fatalf("Elements: %v", f)
	}
	want := []string{`{"a":1,"a":2}`, `1.5`, `"x"`}
	if len(got) != len(want) {
		t.Fatalf("Elements gave %d parts, want %d", len(got), len(want))
	}
	for i := range want {
		if string(got[i]) != want[i] {
			t.Errorf("part %d = %s, want %s: the bytes must be the sender's", i, got[i], want[i])
		}
	}
	for _, doc := range []string{`{}`, `[1,]`, `[1`, ``, `[{"a":}]`} {
		if _, f := strictjson.Elements([]byte(doc)); f == nil {
			t.Errorf("Elements(%q) found no fault, want one", doc)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	got, f := strictjson.Members([]byte(`{"b":"x\ty","a":[1]}`))
	if f != nil || len(got) != 2 || got[0].Name != "b" || string(got[1].Raw) != "[1]" {
		t.Fatalf("Members = %v, %v", got, f)
	}
	if text, ok := strictjson.Text(got[0].Raw); !ok || text != "x\ty" {
		t.Errorf("Text = %q %v, want the meaning of the string", text, ok)
	}
	if _, ok := strictjson.Text(got[1].Raw); ok {
		t.Error("Text took an array")
	}
	if _, f := strictjson.Members([]byte(`[]`)); f == nil || f.Detail != "must be an object" {
		t.Errorf("Members of an array: %v, want a fault", f)
	}
}

// FuzzCheck holds the scanner against encoding/json: what Check takes must be
// JSON there too, and CheckSyntax must agree with json.Valid on UTF-8 input
// that is not nested too deeply.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2,"\u00e9"]}`, `[1.5e3]`, `"\ud83d\ude00"`, `{"a":1,"a":2}`, `nul`, `01`, "\"\x01\"", strings.Repeat("[", 30)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		valid := json.Valid(doc)
		if fault := strictjson.Check(doc); fault == nil && !valid {
			t.Errorf("Check took %q, which is not JSON", doc)
		}
		fault := strictjson.CheckSyntax(doc)
		if fault == nil && !valid {
			t.Errorf("CheckSyntax took %q, which is not JSON", doc)
		}
		if fault != nil && fault.Syntax && valid && !strings.Contains(fault.Detail, "UTF-8") {
			t.Errorf("CheckSyntax calls %q broken (%v), encoding/json does not", doc, fault)
		}
	})
}
