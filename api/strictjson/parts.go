package strictjson

import (
	"bytes"
	"unicode/utf8"
)

// Member is one member of an object: its decoded name and the bytes of its value.
type Member struct {
	Name string
	Raw  []byte
}

// Members returns the members of an object in the order of the document, strictly as
// Check. A document that is not an object is a fault.
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

// Elements returns the elements of an array. It checks only their syntax, so that one
// bad element does not affect the others. The slices share the memory of doc.
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

// Text decodes a JSON string that Check has accepted. ok is false for other values.
func Text(raw []byte) (text string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	s := &scanner{in: raw, strict: true}
	text, f := s.text()
	return text, f == nil && s.at == len(raw)
}

// Lookup returns the first text member of that name in the outermost object of a
// document that may have faults. It identifies refused documents and decides nothing.
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
