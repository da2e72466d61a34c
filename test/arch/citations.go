package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Pages that define what other files cite by number.
const (
	rulesPage    = "docs/rules.md"
	casesPage    = "docs/cases.md"
	promisesPage = "docs/promises.md"
	verifyPage   = "docs/verify.md"

	planted = "test/arch/citations_test.go" // cites what does not exist, on purpose
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

// source is one text file of the repository.
type source struct {
	name, text string
	comments   string          // of a Go file: its comments, each line where it stands in the file
	funcs      map[string]bool // of a Go file: its functions
	literals   []string        // of test code: its strings
}

// library is what the citations are checked against.
type library struct {
	root     fs.FS
	files    []source
	defined  map[string]bool // R1, C1, M1, P1 …
	literals map[string]bool // every string of the test code
	found    []Violation
}

// Citations reads all text files below root and returns what they cite and the repository does not have: documents,
// rules, cases, promises, and the tests that docs/cases.md names. It also returns how many files it has read.
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

// read keeps the text files. Go files are parsed for their comments, functions and strings.
func (l *library) read(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() {
		if name != "." && skipDir(l.root, name) {
			return fs.SkipDir
		}
		return nil
	}
	switch path.Ext(name) {
	case ".go", ".md", ".sql", ".pml", ".yaml", ".yml", "":
	default:
		return nil
	}
	text, err := fs.ReadFile(l.root, name)
	if err != nil {
		return err
	}
	f := source{name: name, text: string(text)}
	if path.Ext(name) == ".go" {
		if isGenerated(text) {
			return nil
		}
		f.parse()
		for _, s := range f.literals {
			l.literals[s] = true
		}
	}
	l.files = append(l.files, f)
	return nil
}

func (f *source) parse() {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, f.name, f.text, parser.ParseComments)
	if err != nil {
		return // Check reports it
	}
	lines := make([]string, strings.Count(f.text, "\n")+2)
	for _, group := range syntax.Comments {
		for _, c := range group.List {
			at := fset.Position(c.Pos()).Line
			for i, line := range strings.Split(c.Text, "\n") {
				lines[at+i-1] += line
			}
		}
	}
	f.comments = strings.Join(lines, "\n")
	f.funcs = map[string]bool{}
	for _, decl := range syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
			f.funcs[fn.Name.Name] = true
		}
	}
	if !isTestCode(f.name) {
		return
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				f.literals = append(f.literals, s)
			}
		}
		return true
	})
}

// define reads what the three pages define. Rules and promises are numbered without a gap, and a promise has the same
// title where `verify` explains it.
func (l *library) define() {
	titles := map[string]string{}
	for _, m := range promiseTitle.FindAllStringSubmatch(l.text(verifyPage), -1) {
		titles[m[1]] = m[2]
	}
	for i, m := range ruleDefined.FindAllStringSubmatch(l.text(rulesPage), -1) {
		l.inOrder(rulesPage, m[1], "R", i+1)
	}
	for i, m := range promiseDefined.FindAllStringSubmatch(l.text(promisesPage), -1) {
		l.inOrder(promisesPage, m[1], "P", i+1)
		if titles[m[1]] != m[2] {
			l.fail("promise", promisesPage, 0, "%s is %q here and %q in %s", m[1], m[2], titles[m[1]], verifyPage)
		}
	}
	for _, m := range caseDefined.FindAllStringSubmatch(l.text(casesPage), -1) {
		if l.defined[m[1]] {
			l.fail("case", casesPage, 0, "%s is there twice", m[1])
		}
		l.defined[m[1]] = true
	}
}

func (l *library) inOrder(page, id, letter string, n int) {
	if want := letter + strconv.Itoa(n); id != want {
		l.fail("number", page, 0, "%s stands where %s belongs", id, want)
	}
	l.defined[id] = true
}

func (l *library) text(name string) string {
	for _, f := range l.files {
		if f.name == name {
			return f.text
		}
	}
	return ""
}

func (l *library) fail(rule, file string, line int, format string, args ...any) {
	l.found = append(l.found, Violation{Rule: rule, File: file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// documents finds paths below docs/, names of Markdown files and relative links that lead nowhere. In Go a bare file name
// counts in comments only: strings are parts of paths.
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

// paths are the paths below docs/ in a line and, when bare, every name of a Markdown file. URLs and absolute paths are none.
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

func (l *library) exists(name string) bool {
	_, err := fs.Stat(l.root, name)
	return err == nil
}

// numbers finds rules, cases and promises that are cited and not defined. In Go only comments cite cases and promises.
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

// tests looks for each test that the page names: the function in the linked file or beside it, and the subtest's name as a
// string of the test code, since tables and suites hold these names elsewhere. One of both is in the linked file.
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
