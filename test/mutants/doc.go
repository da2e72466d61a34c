// Command mutants changes internal/refund in one place at a time and runs its tests: a change that no test notices is a survivor.
// A survivor needs a test that kills it, or a line in equivalent.txt that says why the change makes no difference. The program
// exits with 1 for a survivor that is not listed, for a listed mutant that is killed or no longer exists, for a list of more than 5 % of
// all mutants, and for fewer than 800 mutants.
//
// Results are stored in bin/mutants.tsv as they come, so that a stopped run goes on. A killed mutant is not run again while its
// function is unchanged; a survivor is, because a new test may kill it. `make mutants` runs it; -sample and -only choose a part.
package main
