package bodies

import (
	"strconv"
	"strings"
)

// data writes a document with the given fields and says what it is. Of a hundred, 46 are plain, 12 at the edges, 36 with one
// or two changes of an object and 6 with a change of the text.
func (g gen) data(fields []field) (doc, label string) {
	switch roll := g.below(100); {
	case roll < 46:
		return g.object(fields).write(g), "plain"
	case roll < 58:
		return g.edges(fields).write(g), "edge"
	case roll < 88:
		o, label := g.changed(g.object(fields), fields)
		return o.write(g), label
	case roll < 94:
		o, first := g.changed(g.object(fields), fields)
		o, second := g.changed(o, fields)
		return o.write(g), first + "+" + second
	}
	return g.document(g.object(fields).write(g))
}

// edges makes an object with one or two values at their bounds.
func (g gen) edges(fields []field) *object {
	o := g.object(fields)
	for range g.between(1, 2) {
		f := pick(g, fields)
		if f.kind == kindPayment {
			o.put(f.name, g.edges(paymentFields).write(g))
			continue
		}
		o.put(f.name, g.edge(f.kind))
	}
	return o
}

// changed does one change to an object, or to the payment inside of it.
func (g gen) changed(o *object, fields []field) (*object, string) {
	prefix := ""
	target, its := o, fields
	if g.chance(30) && fields[len(fields)-1].kind == kindPayment {
		prefix = "payment."
		target, its = g.object(paymentFields), paymentFields
	}
	c := choose(g, changes())
	label := prefix + c.name + "/" + c.do(g, target, its)
	if prefix != "" {
		o.put("payment", target.write(g))
	}
	return o, label
}

// document changes the text of a document.
func (g gen) document(doc string) (changed, label string) {
	at := g.below(len(doc))
	junk := pick(g, []string{"{}", " {}", "x", "\x00", ",", "]", "}", "null", "\ufeff", "//", "\xff", "\n1"})
	forms := []struct{ label, text string }{
		{"cut", doc[:at]},
		{"trailing", doc + junk},
		{"trailing", doc + junk},
		{"leading", junk + doc},
		{"bom", "\ufeff" + doc},
		{"empty", pick(g, []string{"", " ", "\n", "\t\r\n "})},
		{"root", pick(g, []string{"null", "[]", "1", `"x"`, "true", "{}", "[" + doc + "]", quote(doc), "[{}]", "-", "{", "\"", "nul", "{}{}"})},
		{"inserted", doc[:at] + pick(g, []string{"\xff", "\xc3", "\x00", "\"", ",", "{", "\\", "\u00a0", "\ufeff", "/**/", "\x1f"}) + doc[at:]},
		{"replaced", doc[:at] + g.anyByte() + doc[at+1:]},
		{"deleted", doc[:at] + doc[at+1:]},
		{"comma", strings.Replace(doc, ",", pick(g, []string{",,", "", ";", ", ,"}), 1)},
		{"comma", doc[:len(doc)-1] + ",}"},
		{"colon", strings.Replace(doc, ":", pick(g, []string{"", "=", "::"}), 1)},
		{"quotes", strings.ReplaceAll(doc, `"`, "'")},
		{"utf-16", "\xff\xfe" + doc},
		{"blanks", pick(g, []string{" ", "\n", "\t"}) + doc + pick(g, []string{" ", "\n\n", "\r"})},
		{"vertical", "\v" + doc},
	}
	form := pick(g, forms)
	return form.text, "document/" + form.label
}

// padded makes a document as long as wanted: 64 KiB is the bound of REST.
func (g gen) padded(doc string) (changed, label string) {
	size := pick(g, []int{65535, 65536, 65536, 65537, 70_000})
	room := size - len(doc)
	if room <= 20 {
		return doc, "padded/not"
	}
	if g.chance(60) {
		return doc + strings.Repeat(" ", room), "padded/blanks-" + strconv.Itoa(size)
	}
	return doc[:len(doc)-1] + `,"huge":"` + strings.Repeat("h", room-10) + `"}`, "padded/member-" + strconv.Itoa(size)
}
