// Package arch checks the walls of the house on the source itself: who may import
// whom (fences.go), how long files and functions get, that no test is skipped, and
// that no folder is named after nothing. It reads every Go file of the module, also
// those that a build tag hides, and nothing is compiled.
package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Module is the path that our own imports begin with.
const Module = "github.com/refundry/refundry"

// Limits of length, in lines. Generated files have none.
const (
	MaxFileLines = 500
	MaxFuncLines = 80
)

// Violation is one wall that one file breaks.
type Violation struct {
	Rule string // a short name: "fence", "file-length", "func-length", "skip", "name", "syntax"
	File string // slash-separated, from the root
	Line int    // 0 for the whole file
	Text string // what is wrong and what to do
}

func (v Violation) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", v.File, v.Line, v.Rule, v.Text)
}

// file is one parsed Go file.
type file struct {
	name   string // slash-separated, from the root
	dir    string
	src    []byte
	fset   *token.FileSet
	syntax *ast.File
	test   bool // test code: may use what production may not
	gen    bool
}

// Check reads the module below root and returns what breaks a wall, in a fixed
// order, and how many files it has read.
func Check(root fs.FS) ([]Violation, int, error) {
	var found []Violation
	n := 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "." {
				return nil
			}
			if skipDir(root, name) {
				return fs.SkipDir
			}
			found = append(found, checkName(name)...)
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		n++
		found = append(found, checkFile(name, src)...)
		return nil
	})
	sort.SliceStable(found, func(i, j int) bool {
		if found[i].File != found[j].File {
			return found[i].File < found[j].File
		}
		return found[i].Line < found[j].Line
	})
	return found, n, err
}

// skipDir leaves out what the go command leaves out: hidden folders, testdata,
// vendored code and modules of their own.
func skipDir(root fs.FS, name string) bool {
	base := path.Base(name)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
		base == "testdata" || base == "vendor" || base == "node_modules" {
		return true
	}
	_, err := fs.Stat(root, path.Join(name, "go.mod"))
	return err == nil
}

func checkFile(name string, src []byte) []Violation {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return []Violation{{Rule: "syntax", File: name, Text: err.Error()}}
	}
	f := file{name: name, dir: path.Dir(name), src: src, fset: fset, syntax: syntax,
		test: isTestCode(name), gen: isGenerated(src)}
	found := f.checkImports()
	if !f.gen {
		found = append(found, f.checkLength()...)
		found = append(found, f.checkSkips()...)
	}
	return found
}

// isTestCode is true for test files, everything in test/, and packages made for
// tests, whose folders end in "test" (dbtest, channeltest).
func isTestCode(name string) bool {
	if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/") {
		return true
	}
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if strings.HasSuffix(part, "test") {
			return true
		}
	}
	return false
}

// generatedLine is the mark of https://go.dev/s/generatedcode.
var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func isGenerated(src []byte) bool {
	head, _, _ := strings.Cut("\n"+string(src), "\npackage ")
	return generatedLine.MatchString(head)
}

func (f file) violation(rule string, at token.Pos, format string, args ...any) Violation {
	line := 0
	if at.IsValid() {
		line = f.fset.Position(at).Line
	}
	return Violation{Rule: rule, File: f.name, Line: line, Text: fmt.Sprintf(format, args...)}
}

func (f file) checkImports() []Violation {
	var found []Violation
	for _, spec := range f.syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			found = append(found, f.violation("syntax", spec.Pos(), "import %s: %v", spec.Path.Value, err))
			continue
		}
		if why := forbidden(f.name, imported, f.test); why != "" {
			found = append(found, f.violation("fence", spec.Pos(), "%s imports %s: %s", f.dir, imported, why))
		}
	}
	return found
}

func (f file) checkLength() []Violation {
	var found []Violation
	if n := strings.Count(string(f.src), "\n"); n > MaxFileLines {
		found = append(found, f.violation("file-length", token.NoPos,
			"%d lines, at most %d: split it by what its parts are about", n, MaxFileLines))
	}
	for _, decl := range f.syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1; n > MaxFuncLines {
			found = append(found, f.violation("func-length", fn.Pos(),
				"func %s has %d lines, at most %d", fn.Name.Name, n, MaxFuncLines))
		}
	}
	return found
}

// emptyNames say nothing about what is inside, and so attract everything.
var emptyNames = map[string]bool{
	"util": true, "utils": true, "common": true, "helper": true, "helpers": true,
	"models": true, "misc": true, "shared": true, "lib": true,
}

func checkName(dir string) []Violation {
	if !emptyNames[path.Base(dir)] {
		return nil
	}
	return []Violation{{Rule: "name", File: dir, Text: "name the folder after what it is about"}}
}
