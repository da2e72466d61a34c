package config

import (
	"sort"
	"strings"
)

// Prefix begins the names of the environment variables.
const Prefix = "REFUNDRY_"

// EnvName returns the environment variable of a flag: --database-url is REFUNDRY_DATABASE_URL.
func EnvName(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Unknown returns the REFUNDRY_ variables of an environment that belong to no flag of the program.
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
