package httpapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/bridge"
	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/http/badrequesttest"
)

// A body that REST refuses is refused as the data of an event, at the same place.
func TestCodecRefusesWhatTheContractRefuses(t *testing.T) {
	t.Parallel()
	attributes := map[string]string{"specversion": "1.0", "id": "e-1", "source": "/shop", "type": "refund.requested"}
	n := 0
	for _, c := range badrequesttest.Cases() {
		if c.Method != "POST" || c.Path != "/v1/refunds" || c.Status != 400 || len(c.Header) > 0 || c.Who != badrequesttest.Writer {
			continue
		}
		n++
		in, _, err := bridge.Codec{}.Decode(attributes, []byte(c.Body))
		if err == nil {
			t.Errorf("%s: the codec accepted %+v", c.Name, in.Refund)
			continue
		}
		at, ok := err.(interface{ Pointer() string })
		if want := strings.TrimSuffix("/data"+c.Where, "/"); ok && c.Where != "" && at.Pointer() != want {
			t.Errorf("%s: the codec names %s, want %s", c.Name, at.Pointer(), want)
		}
	}
	if n < 60 {
		t.Errorf("only %d cases compared", n)
	}
}

// A code of the domain that is not in the catalog would be answered 500.
func TestCatalogKnowsEveryCodeOfTheDomain(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range httpapi.Catalog() {
		if known[string(c.Code)] {
			t.Errorf("%s is in the catalog twice", c.Code)
		}
		known[string(c.Code)] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../refund/codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		text, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		code, err := strconv.Unquote(text.Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if !known[code] {
			t.Errorf("the catalog does not know %s", code)
		}
		return true
	})
	if n < 10 {
		t.Errorf("found only %d codes in the domain", n)
	}
}
