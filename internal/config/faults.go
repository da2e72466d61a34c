package config

import (
	"errors"
	"fmt"
	"strings"
)

// Faults lists what is wrong with one part of the file. Each fault begins with the path of its setting from that part
// (".endpoint: …"), or with ": " when it is about the part as a whole.
type Faults []string

// Note adds a fault when bad.
func (f *Faults) Note(bad bool, format string, args ...any) {
	if bad {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

// Error implements error, one fault a line.
func (f Faults) Error() string { return strings.Join(f, "\n") }

// Err is the list as an error, nil when it is empty.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// faultsOf returns the single faults of an error. An error of another type is one fault of the whole part.
func faultsOf(err error) Faults {
	var listed Faults
	switch {
	case err == nil:
		return nil
	case errors.As(err, &listed):
		return listed
	}
	return Faults{": " + err.Error()}
}

// At returns an error that names every fault by its full path: at is the path of the part. nil stays nil.
func At(at string, err error) error {
	listed := faultsOf(err)
	named := make([]error, len(listed))
	for i, fault := range listed {
		named[i] = errors.New(at + fault)
	}
	return errors.Join(named...)
}
