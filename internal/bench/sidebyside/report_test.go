package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const acceptDoc = `{"server":"17.2","fsync":"on","duration":"5s","results":[
 {"variant":"floor","callers":64,"median":{"perSecond":9000,"p50Ms":6,"cpuMs":{"postgres":0.2,"client":0.1}},"rounds":[{"perSecond":9000}]},
 {"variant":"door","callers":64,"median":{"perSecond":6000,"p50Ms":9,"ratio":0.66,"cpuMs":{"postgres":0.2,"client":0.1}},"rounds":[]}]}`

const bridgeDoc = `{"server":"17.2","fsync":"on","events":10000,"group":128,"median":{"doorPerSecond":9000,"bridgePerSecond":8000,"ratio":0.88},"rounds":[]}`

func TestReportsOfAllVerbs(t *testing.T) {
	t.Parallel()
	r, err := parseReport([]byte(acceptDoc))
	if err != nil {
		t.Fatal(err)
	}
	if r.facts != "server 17.2, fsync on, duration 5s" || len(r.groups) != 2 || r.groups[1].label != "variant door, callers 64" {
		t.Errorf("%+v", r)
	}
	want := []figure{{"perSecond", 6000}, {"p50Ms", 9}, {"ratio", 0.66}, {"cpuMs.postgres", 0.2}, {"cpuMs.client", 0.1}}
	if got := r.groups[1].figures; !slices.Equal(got, want) {
		t.Errorf("figures %v, want %v: in the order of the document", got, want)
	}

	r, err = parseReport([]byte(bridgeDoc))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.groups) != 1 || r.groups[0].label != "" || len(r.groups[0].figures) != 3 || r.facts != "server 17.2, fsync on, events 10000, group 128" {
		t.Errorf("%+v, want one result without a label", r)
	}

	for _, bad := range []string{"", "callers  refunds/s", "[]", "{}", `{"results":[{"callers":1}]}`, `{"median":`} {
		if r, err := parseReport([]byte(bad)); err == nil {
			t.Errorf("%q is read as %+v, want an error", bad, r)
		}
	}
}

func TestRenamedResultsAndFigures(t *testing.T) {
	t.Parallel()
	r, err := parseReport([]byte(acceptDoc))
	if err != nil {
		t.Fatal(err)
	}
	names, err := renames("door=intake,p50Ms=medianMs")
	if err != nil {
		t.Fatal(err)
	}
	r.rename(names)
	g, ok := r.find("variant intake, callers 64")
	if _, figure := g.find("medianMs"); !ok || !figure {
		t.Errorf("%+v, want the new names", r.groups)
	}
	for _, bad := range []string{"door", "=x", "x="} {
		if _, err := renames(bad); err == nil {
			t.Errorf("-rename %q was accepted", bad)
		}
	}
}

// program writes a script that stands for a binary: it records its call and prints a document.
func program(t *testing.T, name, calls, doc string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text := fmt.Sprintf("#!/bin/sh\necho %s \"$@\" >>'%s'\ncat <<'DOC'\n%s\nDOC\n", name, calls, doc)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBothSidesTakeTurns(t *testing.T) {
	t.Parallel()
	calls := filepath.Join(t.TempDir(), "calls")
	before := program(t, "before", calls, acceptDoc)
	after := program(t, "after", calls, strings.NewReplacer(`"door"`, `"intake"`, "6000", "6600", `"p50Ms":9`, `"p95Ms":9`).Replace(acceptDoc))
	var out, progress bytes.Buffer
	err := compare(t.Context(), []string{"-rename", "door=intake", before, after, "--", "accept", "--callers", "64"}, &out, &progress)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	arguments := " bench accept --callers 64 --rounds=1 --json\n"
	if want := strings.Repeat("before"+arguments+"after"+arguments, 9); string(got) != want {
		t.Errorf("calls:\n%swant:\n%s", got, want)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"variant floor, callers 64", "variant intake, callers 64", "median OLD 6000 0.660", "median NEW 6600 0.660",
		"NEW/OLD 1.100 1.000",
		"90 % from 1.100 1.000", "90 % to 1.100 1.000", "differs yes no", "only NEW has: p95Ms", "only OLD has: p50Ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestFewRoundsAndFailures(t *testing.T) {
	t.Parallel()
	calls := filepath.Join(t.TempDir(), "calls")
	good := program(t, "good", calls, bridgeDoc)
	bad := program(t, "bad", calls, "no document")
	var out bytes.Buffer
	if err := compare(t.Context(), []string{"-rounds=2", good, good, "--", "bridge"}, &out, &out); err != nil || !strings.Contains(out.String(), "differs  ") ||
		strings.Contains(out.String(), "yes") || strings.Count(out.String(), "?") != 3 {
		t.Errorf("two rounds: %v\n%s\nwant no verdict on any of the three figures", err, out.String())
	}
	if err := compare(t.Context(), []string{good, bad, "--", "bridge"}, &out, &out); err == nil || !strings.Contains(err.Error(), "no document") {
		t.Errorf("%v, want an error with what the program printed", err)
	}
	for _, args := range [][]string{{good, good}, {good, good, "--"}, {good, "--", "accept"}, {"-rounds", "1", good, good, "--", "accept"}} {
		if err := compare(t.Context(), args, &out, &out); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
