package main

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

func TestVersionVerb(t *testing.T) {
	t.Parallel()
	out, err := run("version", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := map[string]string{"version": version, "commit": commit, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s = %q, want %q", name, got[name], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v has other members than %v", got, want)
	}
	text, err := run("version")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if !strings.Contains(text, value) {
			t.Errorf("%s %q is missing in\n%s", name, value, text)
		}
	}
}
