package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// source is one text file of the repository.
type source struct {
	name, text string
	comments   string          // of a Go file: its comments, each on its line of the file
	funcs      map[string]bool // of a Go file: its functions
	literals   []string        // of test code: its strings
}

// library is what the citations are compared with.
type library struct {
	root     fs.FS
	files    []source
	defined  map[string]bool // R1, C1, M1, P1 …
	literals map[string]bool // every string of the test code
	found    []Violation
}

// read adds a text file. It parses Go files for their comments, functions and strings.
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

// define reads the definitions of the three pages. Rules and promises are numbered without a gap, and a promise has the
// same title in both of its pages.
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
			l.fail("case", casesPage, 0, "%s is defined twice", m[1])
		}
		l.defined[m[1]] = true
	}
}

func (l *library) inOrder(page, id, letter string, n int) {
	if want := letter + strconv.Itoa(n); id != want {
		l.fail("number", page, 0, "%s is in the place of %s", id, want)
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

func (l *library) exists(name string) bool {
	_, err := fs.Stat(l.root, name)
	return err == nil
}
