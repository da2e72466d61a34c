package config

import (
	"errors"
	"fmt"
	"strings"
)

// Faults lists the faults of one part of the file. Each begins with the path of its setting within the part (".endpoint:
// …"), or with ": " when it is about the whole part.
type Faults []string

// AddIf adds a fault if bad is true.
func (f *Faults) AddIf(bad bool, format string, args ...any) {
	if bad {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

// Error implements error, with one fault per line.
func (f Faults) Error() string { return strings.Join(f, "\n") }

// Err returns the list as an error; nil when it is empty.
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

// At prefixes every fault of an error with the path of its part. nil stays nil.
func At(at string, err error) error {
	listed := faultsOf(err)
	named := make([]error, len(listed))
	for i, fault := range listed {
		named[i] = errors.New(at + fault)
	}
	return errors.Join(named...)
}
