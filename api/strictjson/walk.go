package strictjson

// Value is the present value of a walk. It is read at most once, before the function
// that got it returns. A value that is not read, or read as another type than it has, is
// checked and skipped. After a fault of the document, values have no type.
type Value struct{ s *scanner }

// Walk reads one whole document in one pass, strictly as Check, and passes its value to
// read. It returns the first fault, or nil. After a fault, the caller must discard the
// values that read has collected.
func Walk(doc []byte, read func(Value)) *Fault {
	s := &scanner{in: doc, strict: true, read: read}
	return run(s)
}

// Null reports whether the value is null.
func (v Value) Null() bool { return v.s.peek() == 'n' }

// Text reads a string. ok is false for any other value.
func (v Value) Text() (text string, ok bool) {
	if v.s.failed != nil || v.s.peek() != '"' {
		return "", false
	}
	defer v.strictly()()
	text, f := v.s.text()
	v.s.failed = f
	return text, f == nil
}

// Integer reads a number and returns its digits, with the sign if there is one. They
// may exceed every integer type. ok is false for any other value.
func (v Value) Integer() (digits []byte, ok bool) {
	if c := v.s.peek(); v.s.failed != nil || c != '-' && (c < '0' || c > '9') {
		return nil, false
	}
	defer v.strictly()()
	from := v.s.at
	f := v.s.number()
	v.s.failed = f
	return v.s.in[from:v.s.at], f == nil
}

// Object reads an object and passes its members to member, in the order of the
// document. ok is false for any other value.
func (v Value) Object(member func(name string, v Value)) (ok bool) {
	if v.s.failed != nil || v.s.peek() != '{' {
		return false
	}
	f := v.s.object(member)
	v.s.failed = f
	return f == nil
}
