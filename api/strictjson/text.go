package strictjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string and returns its decoded form.
func (s *scanner) text() (string, *Fault) {
	s.at++
	from := s.at
	for s.at < len(s.in) {
		switch c := s.in[s.at]; {
		case c == '"':
			s.at++
			return string(s.in[from : s.at-1]), nil
		case c == '\\':
			return s.escaped(from)
		case c < 0x20:
			return "", s.wrong("holds an unescaped control character")
		default:
			s.at++
		}
	}
	return "", s.wrong("ends within a string")
}

// escaped continues a string whose first backslash is at s.at.
func (s *scanner) escaped(from int) (string, *Fault) {
	out := append([]byte(nil), s.in[from:s.at]...)
	for s.at < len(s.in) {
		switch c := s.in[s.at]; {
		case c == '"':
			s.at++
			return string(out), nil
		case c < 0x20:
			return "", s.wrong("holds an unescaped control character")
		case c != '\\':
			out = append(out, c)
			s.at++
		default:
			r, f := s.escape()
			if f != nil {
				return "", f
			}
			out = utf8.AppendRune(out, r)
		}
	}
	return "", s.wrong("ends within a string")
}

// simple decodes the one-letter escapes of RFC 8259; -1 = no such escape.
func simple(c byte) rune {
	switch c {
	case '"', '\\', '/':
		return rune(c)
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return -1
}

func (s *scanner) escape() (rune, *Fault) {
	s.at++
	c := s.peek()
	s.at++
	if r := simple(c); r >= 0 {
		return r, nil
	}
	if c != 'u' {
		return 0, s.wrong("holds an unknown escape")
	}
	r, ok := s.hex4()
	if !ok {
		return 0, s.wrong("holds an unknown escape")
	}
	if r == 0 && s.strict {
		return 0, s.fault("must not hold U+0000")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if s.peek() == '\\' && s.at+1 < len(s.in) && s.in[s.at+1] == 'u' {
		back := s.at
		s.at += 2
		if low, ok := s.hex4(); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, nil
			}
		}
		s.at = back
	}
	if s.strict {
		return 0, s.fault("holds half of a surrogate pair")
	}
	return utf8.RuneError, nil
}

func (s *scanner) hex4() (rune, bool) {
	if s.at+4 > len(s.in) {
		return 0, false
	}
	var r rune
	for _, c := range s.in[s.at : s.at+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	s.at += 4
	return r, true
}
