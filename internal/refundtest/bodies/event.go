package bodies

import (
	"strconv"
	"strings"
)

// event makes a CloudEvent, six of ten as one document, the others in binary mode. Most are refund.requested.
func (g gen) event(i int) Request {
	typ, fields := "refund.requested", refundFields
	if g.chance(30) {
		typ, fields = "payment.captured", captureFields
	}
	attributes := &object{}
	for _, a := range [][2]string{{"specversion", "1.0"}, {"id", "e-" + strconv.Itoa(i)}, {"source", "/shop/" + strconv.Itoa(g.below(9))}, {"type", typ}} {
		attributes.add(a[0], a[1])
	}
	for _, a := range optionalAttributes {
		if g.chance(30) {
			attributes.add(a.name, pick(g, a.good))
		}
	}
	envelope := g.chance(20)
	var data, label string
	if envelope && g.chance(80) {
		data, label = g.object(fields).write(g), "plain"
	} else {
		data, label = g.data(fields)
	}
	name := strings.TrimPrefix(typ, "refund.")
	if g.chance(60) {
		return g.structured(attributes, data, "structured-"+name+":"+label, envelope)
	}
	return g.binary(attributes, data, "binary-"+name+":"+label, envelope)
}

type attribute struct {
	name      string
	good, bad []string
}

var goodTimes = []string{"2026-03-01T10:00:00Z", "2026-03-01T10:00:00.123456789Z", "2026-03-01T10:00:00+05:30", "2026-02-28T23:59:59.999-11:00",
	"1999-12-31T23:59:59Z", "2024-02-29T00:00:00Z"}

var optionalAttributes = []attribute{
	{"time", goodTimes, []string{"yesterday", "2026-03-01", "2026-03-01T10:00:00", "2026-03-01 10:00:00Z", "2026-03-01t10:00:00z",
		"2026-02-29T10:00:00Z", "2026-13-01T10:00:00Z",
		"2026-03-01T24:00:00Z", "2026-03-01T23:59:60Z", "2026-03-01T10:00:00,5Z", "2026-03-01T10:00Z", "2026-03-01T10:00:00+0530",
		"2026-03-01T10:00:00+24:00", "0000-01-01T00:00:00Z",
		"0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "1772359200", "2026-03-01T10:00:00.1234567890123Z",
		" 2026-03-01T10:00:00Z", "2026-3-1T1:0:0Z"}},
	{"tenantid", []string{"demo", "demo", "shop-2"}, []string{"Demo", " demo", "é", "demo\n", strings.Repeat("t", 64), strings.Repeat("t", 1000)}},
	{"datacontenttype", []string{"application/json", "application/json; charset=utf-8", "Application/JSON"},
		[]string{"text/json", "text/plain", "application/vnd.shop+json", "application/json;charset=latin1", " application/json ", ";", ";charset=utf-8",
			"application", "application/json, text/plain", "application/cloudevents+json"}},
	{"subject", []string{"rf_1", "a b"}, []string{" ", strings.Repeat("s", 2000), "é", "\u0001"}},
	{"dataschema", []string{"https://shop.example/schema/1"}, []string{"relative", "/a", "://", "%zz", "http://[::1", "urn:x:1", "a b", "#"}},
	{"replaybatchid", []string{"01930000-0000-7000-8000-000000000001"}, []string{"01930000-0000-7000-8000-00000000000",
		"01930000-0000-7000-8000-00000000000A", "x", "00000000-0000-0000-0000-000000000000"}},
	{"traceparent", []string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, []string{"x", strings.Repeat("0", 500)}},
}

var requiredAttributes = []attribute{
	{"specversion", nil, []string{"0.3", "1.1", "1", "2.0", " 1.0", "1.0 ", "v1.0"}},
	{"id", nil, []string{" ", "a b", "é", "😀", "\u0001", "\u0085", "\n", "\u007f", strings.Repeat("i", 1015), strings.Repeat("i", 1016),
		strings.Repeat("i", 1017), strings.Repeat("i", 1018), strings.Repeat("é", 512), strings.Repeat("i", 3000)}},
	{"source", nil, []string{" ", "HTTP://Shop/%7Ea?b=%20", "urn:shop:1", "//host/", "a b", "%zz", "::", "http://[::1", "/a\u0001", "/é", "#f", "?q",
		strings.Repeat("s", 1000), strings.Repeat("s", 1025)}},
	{"type", nil, []string{"refund.deleted", "refund.requested ", " refund.requested", "Refund.Requested", "REFUND.REQUESTED", "refund.completed",
		"payment.captured", "refund.requested",
		"é", strings.Repeat("t", 128), strings.Repeat("t", 129), strings.Repeat("t", 5000), "refund.requested\u0001"}},
}

var extensionNames = []string{"x", "x1", "1x", "UPPER", "Mixed", "with-dash", "under_score", "a.b", "é", "", " ",
	"averyveryveryverylongextensionname", "data64", "ID", "Time", "SpecVersion", "tenantId", "datacontentencoding"}

// anyAttribute returns one of all attributes.
func (g gen) anyAttribute() attribute {
	if g.chance(50) {
		return pick(g, requiredAttributes)
	}
	return pick(g, optionalAttributes)
}

// structured writes an event as one document. One change at most is done to its envelope.
func (g gen) structured(attributes *object, data, label string, change bool) Request {
	o := &object{}
	for _, a := range attributes.members {
		o.add(a.key, g.text(a.value))
	}
	o.add("data", data)
	if !change {
		return Request{Kind: label, Body: o.write(g)}
	}
	a := g.anyAttribute()
	good := a.name
	if len(a.good) > 0 {
		good = pick(g, a.good)
	}
	if o.find(a.name) < 0 {
		o.add(a.name, quote(good))
	}
	at := o.find(a.name)
	what := a.name
	switch n := g.below(20); {
	case n < 2:
		o.remove(a.name)
		what += "-missing"
	case n < 4:
		o.members[at].value = pick(g, anyValues)
		what += "-type"
	case n == 4:
		o.members[at].value = "null"
		what += "-null"
	case n == 5:
		o.members[at].value = `""`
		what += "-empty"
	case n == 6:
		o.insert(g, member{"", quote(a.name), pick(g, []string{o.members[at].value, `"other"`})})
		what += "-twice"
	case n == 7:
		o.members[at].name = quote(g.fold(a.name))
		what += "-case"
	case n == 8:
		o.insert(g, member{"", quote(g.fold(a.name)), o.members[at].value})
		what += "-folded"
	case n == 9:
		o.members[at].value = pick(g, badStrings)
		what += "-text"
	case n < 14:
		o.members[at].value = quote(pick(g, a.bad))
		what += "-value"
	case n < 16:
		o.insert(g, member{"", quote(pick(g, extensionNames)), pick(g, append(anyValues, `"v"`, `"v"`, `"v"`, "null", "1.5", "2147483648"))})
		what = "extension"
	case n < 19:
		what = g.otherData(o)
	default:
		doc, form := g.document(o.write(g))
		return Request{Kind: label + "+envelope-" + form, Body: doc}
	}
	return Request{Kind: label + "+" + what, Body: o.write(g)}
}

// otherData changes how the data stand in the document.
func (g gen) otherData(o *object) string {
	switch g.below(5) {
	case 0:
		o.remove("data")
		return "data-missing"
	case 1:
		o.put("data", pick(g, append(anyValues, "null", quote(o.members[o.find("data")].value))))
		return "data-type"
	case 2:
		o.insert(g, member{"", `"data_base64"`, pick(g, []string{`"e30="`, `""`, "null", "1"})})
		return "data-both"
	case 3:
		o.insert(g, member{"", `"data"`, "{}"})
		return "data-twice"
	}
	o.remove("data")
	o.insert(g, member{"", `"data_base64"`, `"e30="`})
	return "data-base64"
}

// binary gives an event whose attributes stand beside the data. One change at most is done to them: which of several faults
// is told is not fixed.
func (g gen) binary(attributes *object, data, label string, change bool) Request {
	r := Request{Kind: label, Body: data, Attributes: map[string]string{}}
	for _, a := range attributes.members {
		r.Attributes[a.key] = a.value
	}
	if !change {
		return r
	}
	a := g.anyAttribute()
	what := a.name
	switch n := g.below(10); {
	case n < 2:
		delete(r.Attributes, a.name)
		what += "-missing"
	case n == 2:
		r.Attributes[a.name] = ""
		what += "-empty"
	case n == 3:
		r.Attributes[a.name] = pick(g, []string{"\xff", "a\xc3", "\x00", "a\x01b", "\u0085", "\xed\xa0\x80"})
		what += "-text"
	case n < 8:
		r.Attributes[a.name] = pick(g, a.bad)
		what += "-value"
	default:
		r.Attributes[pick(g, extensionNames)] = pick(g, []string{"v", "", "é", "\xff", strings.Repeat("v", 2000)})
		what = "extension"
	}
	r.Kind += "+" + what
	return r
}
