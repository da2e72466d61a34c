// Package strictjson reads JSON documents that move money. It refuses what
// encoding/json lets pass in silence: repeated members, numbers that are not
// plain integers, data after the document, lone surrogates, U+0000, deep
// nesting. What it refuses it names by JSON Pointer (RFC 6901) and never quotes.
package strictjson

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest in either mode.
const MaxDepth = 20

// maxPointer bounds the pointer of a fault in bytes: names in it come from outside.
const maxPointer = 256

// Fault is the first thing that is wrong with a document.
type Fault struct {
	Pointer string // JSON Pointer, "" = the whole document
	Detail  string // a clause that follows the name of the place, as "must be an integer"
	Syntax  bool   // the text is not JSON at all; else JSON that we do not take
}

func (f *Fault) Error() string {
	if f.Pointer == "" {
		return "the document " + f.Detail
	}
	return f.Pointer + " " + f.Detail
}

// Check reads one whole document and returns its first fault, or nil. Numbers
// must be integers without sign of zero, fraction or exponent.
func Check(doc []byte) *Fault { return run(&scanner{in: doc, strict: true}) }

// CheckSyntax reads one whole document like Check but only asks whether it is
// JSON in UTF-8 and not nested too deeply, so that it can be taken apart
// without losing a byte of what it holds.
func CheckSyntax(doc []byte) *Fault { return run(&scanner{in: doc}) }

func run(s *scanner) *Fault {
	if !utf8.Valid(s.in) {
		return &Fault{Detail: "is not valid UTF-8", Syntax: true}
	}
	s.space()
	if s.at == len(s.in) {
		return &Fault{Detail: "is empty", Syntax: true}
	}
	if f := s.value(); f != nil {
		return f
	}
	s.space()
	if s.at != len(s.in) {
		return &Fault{Detail: "is followed by more data", Syntax: true}
	}
	return nil
}

// scanner walks the document once. path holds the names and indexes above the
// present value; visit, when set, is told every member or element of the
// outermost value.
type scanner struct {
	in     []byte
	at     int
	strict bool
	path   []string
	visit  func(name string, raw []byte)
}

func (s *scanner) space() {
	for s.at < len(s.in) {
		switch s.in[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// fault names the present place; wrong makes one that says JSON itself is broken.
func (s *scanner) fault(detail string) *Fault { return &Fault{Pointer: s.pointer(), Detail: detail} }

func (s *scanner) wrong(detail string) *Fault {
	return &Fault{Pointer: s.pointer(), Detail: detail, Syntax: true}
}

func (s *scanner) pointer() string {
	var b strings.Builder
	for _, step := range s.path {
		b.WriteByte('/')
		b.WriteString(Escape(step))
	}
	p := b.String()
	if len(p) > maxPointer {
		p = strings.ToValidUTF8(p[:maxPointer], "") + "…"
	}
	return p
}

// Escape writes one reference token of a JSON Pointer.
func Escape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func (s *scanner) value() *Fault {
	if s.at == len(s.in) {
		return s.wrong("ends too early")
	}
	switch c := s.in[s.at]; {
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '"':
		_, f := s.text()
		return f
	case c == '-' || (c >= '0' && c <= '9'):
		return s.number()
	default:
		return s.word()
	}
}

func (s *scanner) word() *Fault {
	for _, w := range [...]string{"null", "true", "false"} {
		if strings.HasPrefix(string(s.in[s.at:min(len(s.in), s.at+len(w))]), w) {
			s.at += len(w)
			return nil
		}
	}
	return s.wrong("is not a JSON value")
}

// number takes the grammar of RFC 8259 and, when strict, only integers of it.
func (s *scanner) number() *Fault {
	from := s.at
	if s.in[s.at] == '-' {
		s.at++
	}
	whole := s.digits()
	switch {
	case whole == 0:
		return s.wrong("is not a number")
	case whole > 1 && s.in[s.at-whole] == '0':
		return s.wrong("must not have leading zeros")
	}
	integer := true
	if s.peek() == '.' {
		s.at++
		integer = false
		if s.digits() == 0 {
			return s.wrong("is not a number")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		integer = false
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if s.digits() == 0 {
			return s.wrong("is not a number")
		}
	}
	if !s.strict {
		return nil
	}
	if !integer {
		return s.fault("must be an integer without fraction or exponent")
	}
	if string(s.in[from:s.at]) == "-0" {
		return s.fault("must not be minus zero")
	}
	return nil
}

func (s *scanner) peek() byte {
	if s.at < len(s.in) {
		return s.in[s.at]
	}
	return 0
}

func (s *scanner) digits() int {
	from := s.at
	for s.at < len(s.in) && s.in[s.at] >= '0' && s.in[s.at] <= '9' {
		s.at++
	}
	return s.at - from
}

func (s *scanner) array() *Fault {
	if len(s.path) >= MaxDepth {
		return s.fault("is nested too deeply")
	}
	s.at++
	for i := 0; ; i++ {
		s.space()
		if i == 0 && s.peek() == ']' {
			s.at++
			return nil
		}
		if f := s.child(strconv.Itoa(i)); f != nil {
			return f
		}
		s.space()
		switch s.peek() {
		case ',':
			s.at++
		case ']':
			s.at++
			return nil
		default:
			return s.wrong("needs a comma or the end of the array")
		}
	}
}

func (s *scanner) object() *Fault {
	if len(s.path) >= MaxDepth {
		return s.fault("is nested too deeply")
	}
	s.at++
	var seen names
	for i := 0; ; i++ {
		s.space()
		if i == 0 && s.peek() == '}' {
			s.at++
			return nil
		}
		if s.peek() != '"' {
			return s.wrong("needs a member name in quotes")
		}
		name, f := s.text()
		if f != nil {
			return f
		}
		if s.strict && !seen.add(name) {
			s.path = append(s.path, name)
			return s.fault("is there twice")
		}
		if s.space(); s.peek() != ':' {
			return s.wrong("needs a colon after a member name")
		}
		s.at++
		s.space()
		if f := s.child(name); f != nil {
			return f
		}
		s.space()
		switch s.peek() {
		case ',':
			s.at++
		case '}':
			s.at++
			return nil
		default:
			return s.wrong("needs a comma or the end of the object")
		}
	}
}

// child reads a value below the present one.
func (s *scanner) child(step string) *Fault {
	s.path = append(s.path, step)
	from := s.at
	if f := s.value(); f != nil {
		return f
	}
	s.path = s.path[:len(s.path)-1]
	if s.visit != nil && len(s.path) == 0 {
		s.visit(step, s.in[from:s.at])
	}
	return nil
}
