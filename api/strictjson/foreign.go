package strictjson

// MaxForeignDepth is how deep arrays and objects may nest in a document for Read.
const MaxForeignDepth = 1000

// Read reads one whole document of another system in one pass and passes its value to read. The document must have one
// reading: a name that is twice in one object, at any place, is a fault, and so are bad UTF-8 and data after the document.
// Values that read takes are checked as strictly as by Walk. Values that it leaves may be any JSON: their sender may add
// members of its own. It returns the first fault, or nil. After a fault, the caller must discard what read has collected.
func Read(doc []byte, read func(Value)) *Fault {
	return run(&scanner{in: doc, foreign: true, read: read})
}

// strictly makes the scanner strict until the returned function is called.
func (v Value) strictly() func() {
	before := v.s.strict
	v.s.strict = before || v.s.foreign
	return func() { v.s.strict = before }
}

// Bool reads true or false. ok is false for any other value.
func (v Value) Bool() (b, ok bool) {
	if c := v.s.peek(); v.s.failed != nil || c != 't' && c != 'f' {
		return false, false
	}
	b = v.s.peek() == 't'
	v.s.failed = v.s.word()
	return b, v.s.failed == nil
}

// Array reads an array and passes its elements to element, in their order. ok is false for any other value.
func (v Value) Array(element func(Value)) (ok bool) {
	if v.s.failed != nil || v.s.peek() != '[' {
		return false
	}
	v.s.failed = v.s.array(element)
	return v.s.failed == nil
}
