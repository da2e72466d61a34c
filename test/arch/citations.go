package arch

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// The pages whose numbers other files cite.
const (
	rulesPage    = "docs/rules.md"
	casesPage    = "docs/cases.md"
	promisesPage = "docs/promises.md"
	verifyPage   = "docs/verify.md"

	planted = "test/arch/citations_test.go" // cites what does not exist
)

var (
	ruleDefined    = regexp.MustCompile(`(?m)^\*\*(R\d+)\. `)
	caseDefined    = regexp.MustCompile(`(?m)^### ([CM]\d+)\. `)
	promiseDefined = regexp.MustCompile(`(?m)^## (P\d+)\. (.+)$`)
	promiseTitle   = regexp.MustCompile(`(?m)^\| (P\d+) \| ([^|]+) \|`)

	pathToken   = regexp.MustCompile(`[\w./:-]+`)
	markdownRef = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	ruleCited   = regexp.MustCompile(`[Rr]ules? (R\d+(?:(?:, | and | or | to )R\d+)*)`)
	ruleNumber  = regexp.MustCompile(`R\d+`)
	caseCited   = regexp.MustCompile(`\b[CM]\d{1,2}\b`)
	promiseUsed = regexp.MustCompile(`\bP\d{1,2}\b`)

	testNamed = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)\\w*)(?:/([^`]+))?`")
	testPlace = regexp.MustCompile(`^ in \[([^\]]+)\]\(\.\./([^)]+)\)`)
)

// Citations reads all text files below root and returns the citations that do not exist: documents, rules, cases, promises,
// and the tests of docs/cases.md. It also returns the number of files.
func Citations(root fs.FS) ([]Violation, int, error) {
	l := &library{root: root, defined: map[string]bool{}, literals: map[string]bool{}}
	if err := fs.WalkDir(root, ".", l.read); err != nil {
		return nil, 0, err
	}
	l.define()
	for _, f := range l.files {
		if f.name == planted {
			continue
		}
		l.documents(f)
		l.numbers(f)
		if f.name == casesPage {
			l.tests(f)
		}
	}
	sort.SliceStable(l.found, func(i, j int) bool { return l.found[i].File < l.found[j].File })
	return l.found, len(l.files), nil
}

// documents reports paths below docs/, names of Markdown files and relative links that do not exist. In Go a bare file name
// counts in comments only, since strings are parts of paths.
func (l *library) documents(f source) {
	isGo := path.Ext(f.name) == ".go"
	remarks := strings.Split(f.comments, "\n")
	for i, line := range strings.Split(f.text, "\n") {
		cited := paths(line, !isGo)
		if isGo && i < len(remarks) {
			cited = append(cited, paths(remarks[i], true)...)
		}
		if path.Ext(f.name) == ".md" {
			for _, m := range markdownRef.FindAllStringSubmatch(line, -1) {
				if to, _, _ := strings.Cut(m[1], "#"); to != "" && !strings.Contains(to, ":") {
					cited = append(cited, strings.TrimRight(to, "/"))
				}
			}
		}
		slices.Sort(cited)
		for _, c := range slices.Compact(cited) {
			if !l.exists(path.Join(path.Dir(f.name), c)) && !l.exists(path.Clean(strings.TrimLeft(c, "./"))) {
				l.fail("document", f.name, i+1, "%s is not in the repository", c)
			}
		}
	}
}

// paths returns the paths below docs/ in a line and, if bare, every name of a Markdown file. URLs and absolute paths do not
// count.
func paths(line string, bare bool) (out []string) {
	if !strings.Contains(line, "docs/") && !strings.Contains(line, ".md") {
		return nil
	}
	for _, t := range pathToken.FindAllString(line, -1) {
		t = strings.TrimRight(t, ".:-/")
		up := strings.TrimLeft(t, "./")
		if strings.HasPrefix(t, "/") || strings.Contains(t, ":") {
			continue
		}
		if strings.HasPrefix(up, "docs/") || (bare && strings.HasSuffix(up, ".md")) {
			out = append(out, t)
		}
	}
	return out
}

// numbers reports cited rules, cases and promises that are not defined. In Go only comments cite cases and promises.
func (l *library) numbers(f source) {
	cites := f.text
	if path.Ext(f.name) == ".go" {
		cites = f.comments
	} else if path.Ext(f.name) != ".md" {
		cites = ""
	}
	for i, line := range strings.Split(f.text, "\n") {
		for _, m := range ruleCited.FindAllString(line, -1) {
			l.known(f.name, i+1, "rule", rulesPage, ruleNumber.FindAllString(m, -1))
		}
	}
	for i, line := range strings.Split(cites, "\n") {
		l.known(f.name, i+1, "case", casesPage, caseCited.FindAllString(line, -1))
		l.known(f.name, i+1, "promise", promisesPage, promiseUsed.FindAllString(line, -1))
	}
}

func (l *library) known(file string, line int, rule, page string, ids []string) {
	for _, id := range ids {
		if !l.defined[id] {
			l.fail(rule, file, line, "%s is not in %s", id, page)
		}
	}
}

// tests reports the tests of the page that do not exist. The function must be in the linked file or beside it, and the name
// of the subtest must be a string of the test code, since tables and suites elsewhere contain it. One of both must be in
// the linked file.
func (l *library) tests(page source) {
	for i, line := range strings.Split(page.text, "\n") {
		for _, at := range testNamed.FindAllStringSubmatchIndex(line, -1) {
			name, sub := line[at[2]:at[3]], ""
			if at[4] >= 0 {
				sub = line[at[4]:at[5]]
			}
			place := testPlace.FindStringSubmatch(line[at[1]:])
			if place == nil || place[1] != place[2] {
				l.fail("test", page.name, i+1, "%s has no link to its file", name)
				continue
			}
			beside, inside := false, false
			for _, f := range l.files {
				beside = beside || (f.funcs[name] && path.Dir(f.name) == path.Dir(place[1]))
				inside = inside || (f.name == place[1] && (f.funcs[name] || slices.Contains(f.literals, sub)))
			}
			if !beside || !inside {
				l.fail("test", page.name, i+1, "%s is not in %s", name, place[1])
			}
			if sub != "" && !l.literals[sub] {
				l.fail("test", page.name, i+1, "%s has no subtest %q", name, sub)
			}
		}
	}
}
