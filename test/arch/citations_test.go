package arch

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestCitationsLeadSomewhere checks this repository.
func TestCitationsLeadSomewhere(t *testing.T) {
	t.Parallel()
	found, n, err := Citations(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if n < 50 {
		t.Fatalf("only %d files read: is the root right?", n)
	}
	for _, v := range found {
		t.Error(v)
	}
	t.Logf("%d files, %d citations that lead nowhere", n, len(found))
}

// sound is a small repository in which every citation exists.
var sound = map[string]string{
	"docs/rules.md":        "**R1. One.** Text.\n\n**R2. Two.** See rule R1 and [the cases](cases.md#c1).\n",
	"docs/cases.md":        "### C1. A case\n\n- **Tests:** `TestA/a part` in [internal/a/a_test.go](../internal/a/a_test.go)\n",
	"docs/promises.md":     "## P1. it holds\n",
	"docs/verify.md":       "| P1 | it holds | checks |\n",
	"internal/a/a.go":      "// Package a keeps rules R1 and R2 (docs/rules.md) and P1; https://example.org/docs/15/x.html is a page of others.\npackage a\n\nconst page = \"/docs/init.js\"\n",
	"internal/a/a_test.go": "package a\n\nimport \"testing\"\n\n// C1.\nfunc TestA(t *testing.T) { t.Run(\"a part\", func(*testing.T) {}) }\n",
	"cmd/server/main.go":   "package main\n\n//go:generate go run ./gen ../../docs/verify.md\n",
}

func TestCitationsThatLeadNowhere(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, file, old, new, want string }{
		{"nothing", "", "", "", ""},
		{"a document that is not there", "internal/a/a.go", "(docs/rules.md)", "(docs/design.md)", "document"},
		{"a document by its bare name", "internal/a/a.go", "(docs/rules.md)", "(rules.md)", "document"},
		{"a link to nowhere", "docs/rules.md", "cases.md#c1", "stories.md#c1", "document"},
		{"a generated page that has moved", "cmd/server/main.go", "verify.md", "promise.md", "document"},
		{"a rule too many", "internal/a/a.go", "R1 and R2", "R1 and R3", "rule"},
		{"a rule too many in a page", "docs/rules.md", "rule R1", "rule R9", "rule"},
		{"a gap between rules", "docs/rules.md", "**R2. Two", "**R3. Two", "number rule"},
		{"a promise too many", "internal/a/a.go", "P1", "P2", "promise"},
		{"a promise under two titles", "docs/verify.md", "it holds", "it holds well", "promise"},
		{"a case too many", "internal/a/a_test.go", "// C1.", "// C1, M4.", "case"},
		{"a case twice", "docs/cases.md", "### C1. A case", "### C1. A case\n\n### C1. Again", "case"},
		{"a test that is not there", "internal/a/a_test.go", "func TestA", "func TestB", "test"},
		{"a subtest that is not there", "internal/a/a_test.go", "a part", "another part", "test"},
		{"a test in a file that is not there", "docs/cases.md", "[internal/a/a_test.go](../internal/a/a_test.go)",
			"[internal/a/b_test.go](../internal/a/b_test.go)", "document test"},
		{"a test without its file", "docs/cases.md", " in [internal/a/a_test.go](../internal/a/a_test.go)", "", "test"},
	}
	for _, c := range cases {
		files := fstest.MapFS{}
		for name, text := range sound {
			if name == c.file {
				if !strings.Contains(text, c.old) {
					t.Fatalf("%s: %s does not contain %q", c.name, name, c.old)
				}
				text = strings.Replace(text, c.old, c.new, 1)
			}
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		found, _, err := Citations(files)
		if err != nil {
			t.Fatal(err)
		}
		names := make([]string, 0, len(found))
		for _, v := range found {
			names = append(names, v.Rule)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %q, want %q: %v", c.name, got, c.want, found)
		}
	}
}
