package wire

import (
	"slices"
	"strings"
	"time"

	"github.com/refundry/refundry/api/strictjson"
)

// maxName bounds the name of a member in a pointer, in bytes: names come from outside.
const maxName = 64

// reader collects the faults of one document.
type reader struct {
	now    time.Time
	path   []string // names above the present value, clipped
	faults []Fault  // of the present member; in the end, of the document
}

// wrong notes a fault of the present value.
func (r *reader) wrong(detail string) { r.note(Fault{r.pointer(), detail}) }

// wrongMember notes a fault of a member of the present value.
func (r *reader) wrongMember(name, detail string) {
	r.path = append(r.path, clip(name))
	r.wrong(detail)
	r.path = r.path[:len(r.path)-1]
}

// note keeps a fault, or drops it once there are MaxFaults.
func (r *reader) note(faults ...Fault) {
	r.faults = append(r.faults, faults[:min(len(faults), MaxFaults-len(r.faults))]...)
}

func (r *reader) pointer() string {
	var b strings.Builder
	for _, name := range r.path {
		b.WriteByte('/')
		b.WriteString(strictjson.Escape(name))
	}
	return b.String()
}

// clip bounds a name that came from outside.
func clip(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return name
}

// wrongKind notes that the present value is not of the type of the contract.
func (r *reader) wrongKind(v strictjson.Value, kind string) {
	if v.Null() {
		r.wrong("must not be null")
		return
	}
	r.wrong("must be of type " + kind)
}

// readObject reads the present value as an object with these members. Faults are noted in the order of members, whatever the order
// of the document is.
func readObject[T any](r *reader, v strictjson.Value, members []member[T], into *T) {
	before := r.faults
	seen := make([]bool, len(members))
	faults := make([][]Fault, len(members))
	var unknown firstNames
	ok := v.Object(func(name string, v strictjson.Value) {
		i := slices.IndexFunc(members, func(m member[T]) bool { return m.name == name })
		if i < 0 {
			unknown.add(clip(name))
			return
		}
		r.path, r.faults = append(r.path, name), nil
		members[i].read(r, v, into)
		r.path = r.path[:len(r.path)-1]
		seen[i], faults[i] = true, r.faults
	})
	r.faults = before
	if !ok {
		r.wrongKind(v, "object")
		return
	}
	for i, m := range members {
		r.note(faults[i]...)
		if !seen[i] && !m.optional {
			r.wrongMember(m.name, "is required")
		}
	}
	for _, name := range unknown {
		r.wrongMember(name, "is not a known member")
	}
}

// firstNames are the MaxFaults first of the names that were added, sorted and without duplicates.
type firstNames []string

func (l *firstNames) add(name string) {
	i, known := slices.BinarySearch(*l, name)
	if known || i == MaxFaults {
		return
	}
	*l = slices.Insert(*l, i, name)
	*l = (*l)[:min(len(*l), MaxFaults)]
}
