package channel

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/refundry/refundry/api/strictjson"
)

// ErrUnreadable is the class of every error of ReadDocument.
var ErrUnreadable = errors.New("channel: the document cannot be read")

// Member is one member of a channel's document that a client reads, under its exact name.
type Member struct {
	name string
	read func(v strictjson.Value) (ok bool) // false = the value has another type
}

// ReadDocument reads a document of a channel: the body of an answer, of a list or of a notice. The document is an object
// that has exactly one reading, or an error. Errors, all of class ErrUnreadable:
//
//   - It is no JSON, no UTF-8, or followed by more data; or a name is twice in one object, at any place.
//   - A member that is read has another type, or its name is there in another spelling, such as "STATUS" for "status". null
//     stands for an absent member.
//
// Members that are not read may be anything. After an error the caller must discard what was read.
func ReadDocument(body []byte, members ...Member) error {
	var wrong error
	fault := strictjson.Read(body, func(v strictjson.Value) { wrong = readMembers(v, members) })
	switch {
	case fault != nil:
		return fmt.Errorf("%w: %w", ErrUnreadable, fault)
	case wrong != nil:
		return fmt.Errorf("%w: %w", ErrUnreadable, wrong)
	}
	return nil
}

// readMembers returns the first fault of the members that are read.
func readMembers(v strictjson.Value, members []Member) error {
	var wrong error
	ok := v.Object(func(name string, v strictjson.Value) {
		for _, m := range members {
			switch {
			case wrong != nil || !strings.EqualFold(name, m.name):
			case name != m.name:
				wrong = fmt.Errorf("%s is there in another spelling", m.name)
			case !v.Null() && !m.read(v):
				wrong = fmt.Errorf("%s has another type", m.name)
			}
		}
	})
	if !ok && wrong == nil {
		return errors.New("it is no object")
	}
	return wrong
}

// TextMember reads a string. *into stays nil when the member is absent.
func TextMember(name string, into **string) Member {
	return Member{name, func(v strictjson.Value) bool {
		text, ok := v.Text()
		*into = &text
		return ok
	}}
}

// IntegerMember reads an integer without fraction and exponent. *into stays nil when the member is absent.
func IntegerMember(name string, into **int64) Member {
	return Member{name, func(v strictjson.Value) bool {
		digits, ok := v.Integer()
		n, err := strconv.ParseInt(string(digits), 10, 64)
		*into = &n
		return ok && err == nil
	}}
}

// BoolMember reads true or false. *into stays nil when the member is absent.
func BoolMember(name string, into **bool) Member {
	return Member{name, func(v strictjson.Value) bool {
		b, ok := v.Bool()
		*into = &b
		return ok
	}}
}

// TextsMember reads an object's members that are texts and not empty. Nothing is decided by them, so a value of another type
// is left out and is no error.
func TextsMember(name string, into *map[string]string) Member {
	return Member{name, func(v strictjson.Value) bool {
		v.Object(func(name string, v strictjson.Value) {
			if text, ok := v.Text(); ok && text != "" {
				if *into == nil {
					*into = map[string]string{}
				}
				(*into)[name] = text
			}
		})
		return true
	}}
}

// ObjectsMember reads an array of objects. next returns the members of one more object. *present reports whether the array
// is there.
func ObjectsMember(name string, present *bool, next func() []Member) Member {
	return Member{name, func(v strictjson.Value) bool {
		all := true
		*present = v.Array(func(v strictjson.Value) {
			if readMembers(v, next()) != nil {
				all = false
			}
		})
		return *present && all
	}}
}
