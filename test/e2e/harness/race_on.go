//go:build race

package harness

// buildFlags make the program like the tests: races inside it end it with an error.
var buildFlags = []string{"-race"}
