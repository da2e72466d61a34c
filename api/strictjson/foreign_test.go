package strictjson_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/refundry/refundry/api/strictjson"
)

func TestReadRefusesADocumentWithTwoReadings(t *testing.T) {
	t.Parallel()
	for doc, detail := range map[string]string{
		`{"a":1,"a":1}`:                    "/a is there twice",
		`{"a":1,"\u0061":2}`:               "/a is there twice",
		`{"new":[{"deep":{"x":1,"x":2}}]}`: "/new/0/deep/x is there twice",
		`{} {}`:                            "the document is followed by more data",
		"{\"new\":\"\xff\"}":               "the document is not valid UTF-8",
		``:                                 "the document is empty",
		`{"new":}`:                         "/new is not a JSON value",
		strings.Repeat("[", 1001) + strings.Repeat("]", 1001): "is nested too deeply",
	} {
		f := strictjson.Read([]byte(doc), func(v strictjson.Value) { v.Object(func(string, strictjson.Value) {}) })
		if f == nil || !strings.HasSuffix(f.Error(), detail) {
			t.Errorf("Read(%.60q) = %v, want %s", doc, f, detail)
		}
	}
}

func TestReadLeavesOtherMembersToTheirSender(t *testing.T) {
	t.Parallel()
	doc := `{"n":7,"yes":true,"no":false,"list":[{"t":"x"},{"t":"y"}],
	  "new":{"f":1.5e300,"z":-0,"half":"\ud800","nul":"\u0000","deep":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`
	var number string
	var yes, no bool
	var texts []string
	f := strictjson.Read([]byte(doc), func(v strictjson.Value) {
		v.Object(func(name string, v strictjson.Value) {
			switch name {
			case "n":
				digits, _ := v.Integer()
				number = string(digits)
			case "yes":
				yes, _ = v.Bool()
			case "no":
				b, ok := v.Bool()
				no = ok && !b
			case "list":
				v.Array(func(v strictjson.Value) {
					v.Object(func(_ string, v strictjson.Value) {
						text, _ := v.Text()
						texts = append(texts, text)
					})
				})
			}
		})
	})
	if f != nil || number != "7" || !yes || !no || !slices.Equal(texts, []string{"x", "y"}) {
		t.Errorf("Read: %v, n %s, yes %v, no %v, texts %v", f, number, yes, no, texts)
	}
}

func TestReadIsStrictAboutTheValuesItTakes(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`1.5`, `1e3`, `-0`, `"\u0000"`, `"\ud800"`} {
		var text, integer, flag, list bool
		f := strictjson.Read([]byte(`{"v":`+value+`}`), func(v strictjson.Value) {
			v.Object(func(_ string, v strictjson.Value) {
				_, text = v.Text()
				_, integer = v.Integer()
				_, flag = v.Bool()
				list = v.Array(func(strictjson.Value) {})
			})
		})
		if f == nil || text || integer || flag || list {
			t.Errorf("%s: %v, %v %v %v %v, want a fault and no value", value, f, text, integer, flag, list)
		}
	}
}
