package strictjson

// array reads an array. element, when set, reads the elements.
func (s *scanner) array(element func(Value)) *Fault {
	if len(s.path) >= s.maxDepth() {
		return s.fault("is nested too deeply")
	}
	s.at++
	var member func(string, Value)
	if element != nil {
		member = func(_ string, v Value) { element(v) }
	}
	for i := 0; ; i++ {
		s.space()
		if i == 0 && s.peek() == ']' {
			s.at++
			return nil
		}
		if f := s.child(step{index: i}, member); f != nil {
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

// object reads an object. member, when set, reads the values of its members.
func (s *scanner) object(member func(name string, v Value)) *Fault {
	if len(s.path) >= s.maxDepth() {
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
		if (s.strict || s.foreign) && !seen.add(name) {
			s.path = append(s.path, step{name, -1})
			return s.fault("is there twice")
		}
		if s.space(); s.peek() != ':' {
			return s.wrong("needs a colon after a member name")
		}
		s.at++
		s.space()
		if f := s.child(step{name, -1}, member); f != nil {
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
func (s *scanner) child(at step, member func(name string, v Value)) *Fault {
	s.path = append(s.path, at)
	from := s.at
	var f *Fault
	if member == nil {
		f = s.value()
	} else {
		member(at.name, Value{s})
		f = s.rest(from)
	}
	if f != nil {
		return f
	}
	s.path = s.path[:len(s.path)-1]
	if s.visit != nil && len(s.path) == 0 {
		s.visit(at.name, s.in[from:s.at])
	}
	return nil
}

// rest ends the value at from, which a function was to read: an unread value is checked
// and skipped.
func (s *scanner) rest(from int) *Fault {
	if s.failed != nil {
		return s.failed
	}
	if s.at == from {
		return s.value()
	}
	return nil
}

// names is the set of the names of one object: a list while it is short, then a map.
type names struct {
	few  []string
	many map[string]struct{}
}

// add reports whether the name is new.
func (n *names) add(name string) bool {
	if n.many != nil {
		_, known := n.many[name]
		n.many[name] = struct{}{}
		return !known
	}
	for _, x := range n.few {
		if x == name {
			return false
		}
	}
	if n.few = append(n.few, name); len(n.few) > 16 {
		n.many = make(map[string]struct{}, 2*len(n.few))
		for _, x := range n.few {
			n.many[x] = struct{}{}
		}
	}
	return true
}
