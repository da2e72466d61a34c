// Package strictjson reads JSON documents that move money. It refuses documents that
// encoding/json silently accepts: repeated members, numbers that are not plain
// integers, data after the document, lone surrogates, U+0000, deep nesting. A fault
// has a JSON Pointer (RFC 6901) and never quotes the document.
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

// Fault is the first fault of a document.
type Fault struct {
	Pointer string // JSON Pointer, "" = the whole document
	Detail  string // a clause that follows the name of the place, as "must be an integer"
	Syntax  bool   // the text is not JSON; false = it is JSON that is refused
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

// CheckSyntax is Check for JSON in general: it checks only that a document is JSON in
// UTF-8 and not nested too deeply, so that it can be split without loss.
func CheckSyntax(doc []byte) *Fault { return run(&scanner{in: doc}) }

func run(s *scanner) *Fault {
	if !utf8.Valid(s.in) {
		return &Fault{Detail: "is not valid UTF-8", Syntax: true}
	}
	s.space()
	if s.at == len(s.in) {
		return &Fault{Detail: "is empty", Syntax: true}
	}
	if f := s.root(); f != nil {
		return f
	}
	s.space()
	if s.at != len(s.in) {
		return &Fault{Detail: "is followed by more data", Syntax: true}
	}
	return nil
}

// scanner walks the document once. path holds the names and indexes above the
// present value. visit, when set, gets every member or element of the outermost
// value; read, when set, gets the outermost value itself, to read it.
type scanner struct {
	in     []byte
	at     int
	strict bool
	// foreign: the document is another system's (Read). strict is then set only while a value is read.
	foreign bool
	path    []step
	visit   func(name string, raw []byte)
	read    func(Value)
	failed  *Fault // of the value that was read last
}

// step is one reference token of a pointer: the name of a member or the index of an element.
type step struct {
	name  string
	index int // of an element; -1 = name is set
}

func (s *scanner) maxDepth() int {
	if s.foreign {
		return MaxForeignDepth
	}
	return MaxDepth
}

func (s *scanner) root() *Fault {
	if s.read == nil {
		return s.value()
	}
	from := s.at
	s.read(Value{s})
	return s.rest(from)
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

// fault is a fault of the present value; wrong is one of the syntax.
func (s *scanner) fault(detail string) *Fault { return &Fault{Pointer: s.pointer(), Detail: detail} }

func (s *scanner) wrong(detail string) *Fault {
	return &Fault{Pointer: s.pointer(), Detail: detail, Syntax: true}
}

func (s *scanner) pointer() string {
	var b strings.Builder
	for _, step := range s.path {
		b.WriteByte('/')
		if step.index >= 0 {
			b.WriteString(strconv.Itoa(step.index))
			continue
		}
		b.WriteString(Escape(step.name))
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
		return s.object(nil)
	case c == '[':
		return s.array(nil)
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
