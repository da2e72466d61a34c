package strictjson

import (
	"bytes"
	"unicode/utf8"
)

// Member is one member of an object: its name as it is meant, its value as it
// was written.
type Member struct {
	Name string
	Raw  []byte
}

// Members takes an object apart, in the order of the document, strictly as
// Check. A document that is no object is a fault.
func Members(doc []byte) ([]Member, *Fault) {
	if !begins(doc, '{') {
		if f := Check(doc); f != nil {
			return nil, f
		}
		return nil, &Fault{Detail: "must be an object"}
	}
	var out []Member
	s := &scanner{in: doc, strict: true, visit: func(name string, raw []byte) { out = append(out, Member{name, raw}) }}
	if f := run(s); f != nil {
		return nil, f
	}
	return out, nil
}

// Elements takes an array apart without judging more than the syntax of its
// elements, so that one bad element does not condemn the others. The slices
// point into doc.
func Elements(doc []byte) ([][]byte, *Fault) {
	if !begins(doc, '[') {
		if f := CheckSyntax(doc); f != nil {
			return nil, f
		}
		return nil, &Fault{Detail: "must be an array"}
	}
	var out [][]byte
	s := &scanner{in: doc, visit: func(_ string, raw []byte) { out = append(out, raw) }}
	if f := run(s); f != nil {
		return nil, f
	}
	return out, nil
}

func begins(doc []byte, with byte) bool {
	trimmed := bytes.TrimLeft(doc, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == with
}

// Text reads a JSON string that Check has passed. ok is false for other values.
func Text(raw []byte) (text string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	s := &scanner{in: raw, strict: true}
	text, f := s.text()
	return text, f == nil && s.at == len(raw)
}

// Lookup reads a text member of the outermost object of a document that may be
// wrong elsewhere: the first one of that name. It is for telling a refused
// document apart from others, never for deciding anything.
func Lookup(doc []byte, name string) (string, bool) {
	if !begins(doc, '{') || !utf8.Valid(doc) {
		return "", false
	}
	text, found := "", false
	s := &scanner{in: doc, visit: func(member string, raw []byte) {
		if !found && member == name {
			text, found = Text(raw)
		}
	}}
	_ = run(s)
	return text, found
}
