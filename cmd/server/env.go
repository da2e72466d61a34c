package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/refundry/refundry/internal/config"
)

// bindEnv sets the flags that the command line leaves out and the environment has. The error lists every value that is not valid,
// without the value.
func bindEnv(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var faults []error
	flags.VisitAll(func(f *pflag.Flag) {
		v, ok := lookup(config.EnvName(f.Name))
		if f.Changed || !ok {
			return
		}
		if err := flags.Set(f.Name, v); err != nil {
			faults = append(faults, fmt.Errorf("%s: not a valid value for --%s", config.EnvName(f.Name), f.Name))
		}
	})
	return errors.Join(faults...)
}
