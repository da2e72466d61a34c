package config

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/spf13/pflag"
)

// Prefix of our environment variables.
const Prefix = "REFUNDRY_"

// EnvName is the variable that stands for a flag: --database-url is REFUNDRY_DATABASE_URL.
func EnvName(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// BindEnv sets every flag that the command line left out and the environment names.
func BindEnv(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var faults []error
	flags.VisitAll(func(f *pflag.Flag) {
		v, ok := lookup(EnvName(f.Name))
		if f.Changed || !ok {
			return
		}
		if err := flags.Set(f.Name, v); err != nil {
			faults = append(faults, fmt.Errorf("%s: not a valid value for --%s", EnvName(f.Name), f.Name))
		}
	})
	return errors.Join(faults...)
}

// Unknown lists the REFUNDRY_* variables of an environment that no flag of the program stands for: most likely typing errors.
func Unknown(environ []string, known map[string]bool) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, Prefix) && !known[name] {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}
