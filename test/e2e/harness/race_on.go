//go:build race

package harness

// buildFlags build the program with the race detector if the tests have it: a race ends the program with an error.
var buildFlags = []string{"-race"}
