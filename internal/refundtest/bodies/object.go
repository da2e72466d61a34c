package bodies

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// member is a member of an object as it will be written: name and value are JSON text, or what should have been.
type member struct{ key, name, value string } // key is the meaning of name before anything was done to it

type object struct{ members []member }

func (o *object) add(key, value string) {
	o.members = append(o.members, member{key, quote(key), value})
}

func (o *object) find(key string) int {
	for i, m := range o.members {
		if m.key == key {
			return i
		}
	}
	return -1
}

// put replaces the value of a member, or adds it.
func (o *object) put(key, value string) {
	if i := o.find(key); i >= 0 {
		o.members[i].value = value
		return
	}
	o.add(key, value)
}

func (o *object) remove(key string) {
	if i := o.find(key); i >= 0 {
		o.members = append(o.members[:i], o.members[i+1:]...)
	}
}

// insert adds a member at any place.
func (o *object) insert(g gen, m member) {
	i := g.below(len(o.members) + 1)
	o.members = append(o.members, member{})
	copy(o.members[i+1:], o.members[i:])
	o.members[i] = m
}

// write gives the object's text in one of several styles: tight or with blanks, in order or not, names escaped or not.
func (o *object) write(g gen) string {
	list := append([]member(nil), o.members...)
	if g.chance(30) {
		for i := len(list) - 1; i > 0; i-- {
			j := g.below(i + 1)
			list[i], list[j] = list[j], list[i]
		}
	}
	blank := ""
	if g.chance(20) {
		blank = pick(g, []string{" ", "\n", "\t", "\r\n", "  \t "})
	}
	var b strings.Builder
	b.WriteString("{" + blank)
	for i, m := range list {
		if i > 0 {
			b.WriteString("," + blank)
		}
		name := m.name
		if m.key != "" && name == quote(m.key) && g.chance(3) {
			name = escapedText(m.key)
		}
		b.WriteString(name + blank + ":" + blank + m.value)
	}
	b.WriteString(blank + "}")
	return b.String()
}

// quote writes a string of JSON with as few escapes as possible. Bytes that are no UTF-8 stay as they are.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// escapedText writes a string of JSON with every character escaped.
func escapedText(s string) string { return escapedAs(s, `\u%04x`) }

func escapedAs(s, unitFormat string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, unitFormat, unit)
	}
	b.WriteByte('"')
	return b.String()
}

// text writes a string of JSON in one of several styles.
func (g gen) text(s string) string {
	switch g.below(20) {
	case 0:
		return escapedText(s)
	case 1:
		return escapedAs(s, `\u%04X`)
	case 2:
		return strings.NewReplacer("/", `\/`, `\u000a`, `\n`, `\u0009`, `\t`).Replace(quote(s))
	}
	return quote(s)
}
