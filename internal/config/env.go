package config

import (
	"sort"
	"strings"
)

// Prefix of our environment variables.
const Prefix = "REFUNDRY_"

// EnvName is the variable that stands for a flag: --database-url is REFUNDRY_DATABASE_URL.
func EnvName(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
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
