package strictjson

// number reads a number of RFC 8259; when strict, an integer without fraction and exponent.
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
