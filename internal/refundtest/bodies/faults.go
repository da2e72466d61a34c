package bodies

import "strings"

// change does something to an object and says what.
type change func(g gen, o *object, fields []field) string

// changes is a function, not a variable, since some of its rows lead back to it.
func changes() []weighted[change] {
	return []weighted[change]{
		{10, "missing", missing}, {8, "null", null}, {12, "type", wrongType}, {10, "case", otherCase}, {8, "twice", twice},
		{8, "folded", folded}, {9, "unknown", unknown}, {12, "text", badText}, {14, "number", badNumber}, {8, "currency", badCurrency},
		{14, "metadata", badMetadata}, {6, "reason", badReason}, {4, "reference", badReference}, {3, "payment", badPayment}, {5, "deep", deep},
	}
}

// of returns a field of one of the kinds; without any, a field of any kind.
func of(g gen, fields []field, kinds ...kind) field {
	var some []field
	for _, f := range fields {
		for _, k := range kinds {
			if f.kind == k {
				some = append(some, f)
			}
		}
	}
	if len(some) == 0 {
		some = fields
	}
	return pick(g, some)
}

func missing(g gen, o *object, fields []field) string {
	f := pick(g, fields)
	o.remove(f.name)
	return f.name
}

func null(g gen, o *object, fields []field) string {
	f := pick(g, fields)
	o.put(f.name, "null")
	return f.name
}

var anyValues = []string{`true`, `false`, `0`, `1250`, `-3`, `""`, `"x"`, `"1250"`, `"null"`, `[]`, `{}`, `[1]`, `["USD"]`, `{"a":"b"}`,
	`{"amount":1}`, `[[]]`}

func wrongType(g gen, o *object, fields []field) string {
	f := pick(g, fields)
	o.put(f.name, pick(g, anyValues))
	return f.name
}

// fold writes a name with other letters that some readers take for the same.
func (g gen) fold(name string) string {
	i := g.below(len(name))
	swapped := strings.ToUpper(name[i : i+1])
	if swapped == name[i:i+1] {
		swapped = strings.ToLower(swapped)
	}
	forms := []string{strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], name[:i] + swapped + name[i+1:],
		strings.Replace(name, "s", "ſ", 1), strings.Replace(name, "k", "\u212a", 1), strings.ToLower(name)}
	for {
		if form := pick(g, forms); form != name {
			return form
		}
	}
}

func otherCase(g gen, o *object, fields []field) string {
	f := pick(g, fields)
	o.put(f.name, g.value(f.kind))
	o.members[o.find(f.name)].name = quote(g.fold(f.name))
	return f.name
}

func twice(g gen, o *object, fields []field) string {
	f := pick(g, fields)
	o.put(f.name, g.value(f.kind))
	again := member{"", quote(f.name), o.members[o.find(f.name)].value}
	if g.chance(50) {
		again.value = g.value(f.kind)
	}
	if g.chance(30) {
		again.name = escapedText(f.name)
	}
	o.insert(g, again)
	return f.name
}

func folded(g gen, o *object, fields []field) string {
	f := pick(g, fields)
	o.put(f.name, g.value(f.kind))
	o.insert(g, member{"", quote(g.fold(f.name)), g.value(f.kind)})
	return f.name
}

func unknown(g gen, o *object, _ []field) string {
	name := pick(g, []string{"x", "note", "", "a/b", "a~b", "~1", "__proto__", "refund_id", "amount ", " amount", "amount\u0000", "channelaccount", "é",
		"\u2028", "😀", "$schema", "id", "tenantid", strings.Repeat("k", 64), strings.Repeat("k", 65), strings.Repeat("é", 33), strings.Repeat("long", 80)})
	most := 3
	if g.chance(4) {
		most = 30
	}
	for range g.between(1, most) {
		o.insert(g, member{"", quote(name), pick(g, anyValues)})
		name += "2"
	}
	return "name"
}

// badStrings are texts of JSON that are not JSON, or not text.
var badStrings = []string{`"\ud800"`, `"\udc00x"`, `"a\ud800\u0041"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\u0000"`, `"a\u0000b"`, `"\x41"`, `"\u12"`,
	`"\u12G4"`, `"\'"`,
	"\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xc0\x80\"", "\"a\x01\"", "\"tab\t\"", "\"line\n\"", "\"\x00\"", `"open`,
	`'x'`, `x`, `"a" "b"`, `"a`, `"\`, `"\"`}

// badIDs are texts that are no id, and some that are one in disguise.
var badIDs = []string{"", " ", "a b", " a", "a ", "a/b", "é", "a\n", "a\t", "ａ", "a\u200b", "<a>", "%41", "a,b", "a;b", "a\\b", "a\"b", "a#", "a$",
	"a\u007f", "a\u0085", "a😀",
	strings.Repeat("a", 65), strings.Repeat("a", 66), strings.Repeat("é", 32), strings.Repeat("a", 1000)}

func badText(g gen, o *object, fields []field) string {
	f := of(g, fields, kindID, kindID, kindReason, kindReference, kindCurrency)
	if g.chance(50) {
		o.put(f.name, pick(g, badStrings))
	} else {
		o.put(f.name, quote(pick(g, badIDs)))
	}
	return f.name
}

var numbers = []string{"0", "-1", "-0", "1.0", "1.5", "12.50", "0.5", "1e3", "1E3", "1e+3", "1E-3", "1e0", "0e0", "-1250", "9007199254740991",
	"9007199254740992", "9007199254740993",
	"9223372036854775807", "9223372036854775808", "18446744073709551616", "99999999999999999999", "-9223372036854775808", "-9223372036854775809",
	strings.Repeat("9", 308), strings.Repeat("9", 309), strings.Repeat("1", 400), "-" + strings.Repeat("9", 400), "1e308", "1e400", "1e-400",
	"1" + strings.Repeat("0", 30) + ".0",
	"007", "00", "01", "-01", "+1", "0x10", "1_000", "1,000", "NaN", "Infinity", "-Infinity", "1.", ".5", "-", "1e", "1e+", "--1", "1 2", "١٢", "1250n",
	`"1250"`, `" 1250"`, `"1e3"`, "true", "1250.00"}

func badNumber(g gen, o *object, fields []field) string {
	f := of(g, fields, kindAmount, kindAmount, kindCount)
	o.put(f.name, pick(g, numbers))
	return f.name
}

func badCurrency(g gen, o *object, fields []field) string {
	f := of(g, fields, kindCurrency)
	o.put(f.name, quote(pick(g, []string{"usd", "Usd", "USDD", "US", "U", "", " USD", "USD ", "ABC", "ZZZ", "QQQ", "XXX", "XTS", "XAU", "XAG", "XDR",
		"HRK", "BGN", "DEM", "ANG", "ZWL",
		"840", "US$", "$", "€", "ＵＳＤ", "USĐ", "U D", "SD ", "USD\n", "JPY EUR", "CNH", "BTC", "USDT", "SLL", "VED", "XCG"})))
	return f.name
}

func badReason(g gen, o *object, fields []field) string {
	f := of(g, fields, kindReason)
	alphabet := pick(g, alphabets[:4])
	o.put(f.name, quote(pick(g, []string{"", " ", "\n", "\u200b", g.characters(alphabet, 500), g.characters(alphabet, 501), g.characters(alphabets[3], 250),
		g.characters(alphabets[3], 251), g.characters(alphabets[3], 500), g.characters(alphabets[2], 501), strings.Repeat("e\u0301", 251),
		g.characters(alphabet, 2000)})))
	return f.name
}

func badReference(g gen, o *object, fields []field) string {
	f := of(g, fields, kindReference)
	o.put(f.name, quote(pick(g, []string{"", " ", "a b", " a", "a ", "é", "\u007f", "a\n", "a\t", "\u0085", "😀", strings.Repeat("r", 255),
		strings.Repeat("r", 256),
		strings.Repeat("~", 255), strings.Repeat("é", 127), strings.Repeat("r", 3000)})))
	return f.name
}

func badPayment(g gen, o *object, fields []field) string {
	f := of(g, fields, kindPayment)
	o.put(f.name, pick(g, []string{"null", "[]", "{}", `"x"`, "1", "true", "[{}]", `{"payment":{}}`, `{"orderId":"o"}`, `{"x":1}`,
		`{"orderId":null,"amount":null,"currency":null,"channelAccount":null}`}))
	return f.name
}

// badMetadata sets the whole of metadata, so that a second change does not add to the first.
func badMetadata(g gen, o *object, fields []field) string {
	f := of(g, fields, kindMetadata)
	if g.chance(15) {
		o.put(f.name, pick(g, []string{"null", "[]", `"x"`, "1", "true", `["a"]`, `[{"a":"b"}]`, `""`}))
		return f.name
	}
	m := g.metadata(g.below(4))
	alphabet := pick(g, alphabets[:4])
	switch g.below(9) {
	case 0:
		m = g.metadata(pick(g, []int{51, 52, 200}))
	case 1:
		m.insert(g, member{"", quote(pick(g, []string{"", g.characters(alphabet, 65), g.characters(alphabets[3], 33), g.characters(alphabets[3], 64),
			strings.Repeat("n", 400)})), `"v"`})
	case 2:
		m.insert(g, member{"", `"v"`, quote(g.characters(alphabet, pick(g, []int{257, 512, 513, 1024})))})
	case 3:
		m.insert(g, member{"", quote(pick(g, []string{"v", "a/b", "a~b", "é", strings.Repeat("n", 64)})), pick(g, []string{"null", "1", "1.5", "-0", "true",
			"{}", "[]", `{"a":"b"}`, `["a"]`, "1e3"})})
	case 4:
		m.insert(g, member{"", `"same"`, `"1"`})
		m.insert(g, member{"", pick(g, []string{`"same"`, `"\u0073ame"`, `"Same"`, `"ſame"`}), `"2"`})
	case 5:
		m.insert(g, member{"", `"v"`, pick(g, badStrings)})
	case 6:
		m.insert(g, member{"", pick(g, badStrings), `"v"`})
	case 7:
		if g.single {
			break
		}
		for range pick(g, []int{2, 3, 25}) {
			m.add(g.id(), pick(g, []string{"null", "1", "[]", quote(strings.Repeat("t", 513))}))
		}
	default:
		m.insert(g, member{"", quote(strings.Repeat("n/", 40)), pick(g, []string{"1", `"v"`, `"\ud800"`})})
	}
	o.put(f.name, m.write(g))
	return f.name
}

func deep(g gen, o *object, fields []field) string {
	n := g.between(17, 24)
	value := strings.Repeat("[", n) + strings.Repeat("]", n)
	if g.chance(50) {
		value = strings.Repeat(`{"d":`, n) + "1" + strings.Repeat("}", n)
	}
	if g.chance(50) {
		o.insert(g, member{"", `"deep"`, value})
		return "member"
	}
	f := of(g, fields, kindMetadata)
	o.put(f.name, value)
	return f.name
}
