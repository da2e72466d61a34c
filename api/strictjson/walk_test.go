package strictjson_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/refundry/refundry/api/strictjson"
)

// reading reads a document of any shape and notes what it meets.
func reading(notes *[]string) func(strictjson.Value) {
	var value func(name string, v strictjson.Value)
	value = func(name string, v strictjson.Value) {
		if name == "unread" {
			return
		}
		if v.Null() {
			*notes = append(*notes, name+" null")
			return
		}
		if text, ok := v.Text(); ok {
			*notes = append(*notes, name+" text "+text)
			return
		}
		if digits, ok := v.Integer(); ok {
			*notes = append(*notes, name+" integer "+string(digits))
			return
		}
		if !v.Object(value) {
			*notes = append(*notes, name+" other")
		}
	}
	return func(v strictjson.Value) { value("", v) }
}

func TestWalkGivesValuesInTheOrderOfTheDocument(t *testing.T) {
	t.Parallel()
	var notes []string
	doc := ` { "z" : "x\ty" , "unread":{"a":[1,{"b":2}]}, "a":{"n":-12,"none":null}, "list":[1,2] , "yes":true,"unread":null} `
	f := strictjson.Walk([]byte(strings.Replace(doc, `"unread":null`, `"last":99999999999999999999`, 1)), reading(&notes))
	want := []string{"z text x\ty", "n integer -12", "none null", "list other", "yes other", "last integer 99999999999999999999"}
	if f != nil || !slices.Equal(notes, want) {
		t.Errorf("Walk read %q and found %v, want %q and no fault", notes, f, want)
	}
	if f := strictjson.Walk([]byte(doc), reading(&notes)); f == nil || f.Pointer != "/unread" {
		t.Errorf("Walk found %v in a document with a member twice, want /unread", f)
	}
}

// FuzzWalk holds Walk against Check: whether and how a document is read, its faults are the same.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2,"\u00e9"]}`, `[1.5e3]`, `"\ud800"`, `{"a":1,"a":2}`, `{"unread":{"a":-0}}`, `{"a":{"b":{"c":"\u0000"}}}`, `{"a":nul}`, `-`, ``,
		`{"a":"x`, strings.Repeat(`{"a":`, 30), "{\"a\":\"\xff\"}", `{} {}`, `{"a":1.0}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var notes []string
		want, got := strictjson.Check(doc), strictjson.Walk(doc, reading(&notes))
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("Walk(%q) = %v, want the fault of Check, %v", doc, got, want)
		}
	})
}
