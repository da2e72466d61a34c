package nats

import (
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/bridge"
)

// The subject tells the tenant and the type, because the server lets a sender publish to its own subjects only.
func TestSubjectsBoundWhatAnEventMayClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form, subject string
		want          bridge.Bound
	}{
		{"", "x.in.shop.refund.requested", bridge.Bound{}},
		{"x.in.{tenant}.{type}", "x.in.shop.refund.requested", bridge.Bound{Checked: true, Tenant: "shop", Type: "refund.requested"}},
		{"x.*.{tenant}.v1.{type}", "x.eu.shop.v1.a", bridge.Bound{Checked: true, Tenant: "shop", Type: "a"}},
		{"x.in.{tenant}.{type}", "y.in.shop.refund.requested", bridge.Bound{Checked: true}},
		{"x.in.{tenant}.{type}", "x.in.shop", bridge.Bound{Checked: true}},
		{"x.in.{tenant}.v1.{type}", "x.in.shop.v2.a", bridge.Bound{Checked: true}},
	} {
		if got := boundOf(c.form, c.subject); got != c.want {
			t.Errorf("%s of %s: %+v, want %+v", c.subject, c.form, got, c.want)
		}
	}
}

func TestSubjectFormsAreChecked(t *testing.T) {
	t.Parallel()
	decode := func(form string) (bridge.Settings, error) {
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(`{url: "nats://localhost:4222", stream: S, subjects: ["x.>"], subjectForm: "`+form+`"}`), &node); err != nil {
			t.Fatal(err)
		}
		return decodeSettings(*node.Content[0])
	}
	for _, form := range []string{"x.{tenant}.{type}", "{tenant}.{type}", "x.*.{tenant}.v1.{type}"} {
		if s, err := decode(form); err != nil || !s.Bounds() {
			t.Errorf("%s: %v, want a form that bounds", form, err)
		}
	}
	for _, form := range []string{"x.{tenant}", "x.{type}", "{type}.{tenant}", "{tenant}.{tenant}.{type}", "a{tenant}.{type}", "x..{tenant}.{type}", "x.>.{tenant}.{type}"} {
		if _, err := decode(form); err == nil {
			t.Errorf("%s is taken", form)
		}
	}
	if s, err := decode(""); err != nil || s.Bounds() {
		t.Errorf("no form: %v, want settings that bound nothing", err)
	}
}
