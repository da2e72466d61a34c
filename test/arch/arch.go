// Package arch checks the rules of the layout on the source itself: which package may import which (fences.go), the sizes of
// files, lines and functions (limits.go), that no test is skipped (skips.go), that comments cite what exists (citations.go),
// and that a folder's name says what is in it. It reads every Go file of the module, including those that a build tag
// excludes, and compiles nothing.
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

// Module is the path that our own imports begin with.
const Module = "github.com/refundry/refundry"

// Violation is one rule that one file breaks, or the whole module (File is then ".").
type Violation struct {
	Rule string // a short name: "fence", "file-length", "file-length-p90", "func-length", "wide-lines", "params", "skip", "name", "syntax"
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
}

// Report is the result of a check.
type Report struct {
	Violations []Violation // ordered by file and line
	Files      int         // Go files that were read
	Sizes      Sizes
}

// Check reads the module below root and reports its violations. The error is one of reading.
func Check(root fs.FS) (Report, error) {
	var r Report
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name == ".":
			return nil
		case d.IsDir() && skipDir(root, name):
			return fs.SkipDir
		case d.IsDir():
			r.Violations = append(r.Violations, checkName(name)...)
			return nil
		case !strings.HasSuffix(name, ".go"):
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		r.checkFile(name, src)
		return nil
	})
	r.Violations = append(r.Violations, r.Sizes.check()...)
	sort.SliceStable(r.Violations, func(i, j int) bool {
		a, b := r.Violations[i], r.Violations[j]
		if a.File != b.File {
			return a.File < b.File
		}
		return a.Line < b.Line
	})
	return r, err
}

// skipDir reports whether the go command leaves the folder out: hidden folders, testdata, vendored code, other modules.
func skipDir(root fs.FS, name string) bool {
	base := path.Base(name)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
		base == "testdata" || base == "vendor" || base == "node_modules" {
		return true
	}
	_, err := fs.Stat(root, path.Join(name, "go.mod"))
	return err == nil
}

// checkFile adds one file to the report.
func (r *Report) checkFile(name string, src []byte) {
	r.Files++
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		r.Violations = append(r.Violations, Violation{Rule: "syntax", File: name, Text: err.Error()})
		return
	}
	f := file{name: name, dir: path.Dir(name), src: src, fset: fset, syntax: syntax, test: isTestCode(name)}
	r.Violations = append(r.Violations, f.checkImports()...)
	if isGenerated(src) {
		return
	}
	r.Sizes.add(f)
	r.Violations = slices.Concat(r.Violations, f.checkLength(), f.checkParams(), f.checkSkips())
}

// isTestCode reports whether a file is a test, is below test/, or belongs to a package for tests, whose folder's name ends in
// "test" (dbtest, channeltest).
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

// generatedLine is the comment of generated files: https://go.dev/s/generatedcode.
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

// emptyNames are folder names that do not say what the folder is about.
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
