package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"unicode/utf8"
)

// Sizes are the measures of all hand-written Go files of a module together.
type Sizes struct {
	Files       int // hand-written files
	LongestFile int // lines
	P90Lines    int // lines; nine files of ten are not longer
	WideLines   int // lines of more than WideLine characters
	MostParams  int // parameters of one function

	lengths []int
}

func (s Sizes) String() string {
	return fmt.Sprintf("%d hand-written files; longest file %d lines (limit %d), nine of ten at most %d (limit %d); "+
		"%d lines above %d characters (limit %d); at most %d parameters (limit %d)",
		s.Files, s.LongestFile, MaxFileLines, s.P90Lines, MaxFileLinesP90, s.WideLines, WideLine, MaxWideLines, s.MostParams, MaxParams)
}

// add measures one file.
func (s *Sizes) add(f file) {
	lines := f.lines()
	s.Files++
	s.lengths = append(s.lengths, lines)
	s.LongestFile = max(s.LongestFile, lines)
	s.WideLines += f.wideLines()
	f.eachSignature(func(_ token.Pos, params int) { s.MostParams = max(s.MostParams, params) })
}

// check returns the violations of the limits that the whole module keeps, and computes P90Lines.
func (s *Sizes) check() []Violation {
	if len(s.lengths) == 0 {
		return nil
	}
	slices.Sort(s.lengths)
	s.P90Lines = s.lengths[(len(s.lengths)*9+9)/10-1]
	var found []Violation
	if s.P90Lines > MaxFileLinesP90 {
		found = append(found, Violation{Rule: "file-length-p90", File: ".", Text: fmt.Sprintf(
			"more than one file of ten has more than %d lines (nine of ten have at most %d): split the long ones by subject", MaxFileLinesP90, s.P90Lines)})
	}
	if s.WideLines > MaxWideLines {
		found = append(found, Violation{Rule: "wide-lines", File: ".", Text: fmt.Sprintf(
			"%d lines have more than %d characters, at most %d may: break them", s.WideLines, WideLine, MaxWideLines)})
	}
	return found
}

func (f file) lines() int { return bytes.Count(f.src, []byte("\n")) }

func (f file) wideLines() int {
	n := 0
	for line := range bytes.Lines(f.src) {
		if utf8.RuneCount(bytes.TrimRight(line, "\r\n")) > WideLine {
			n++
		}
	}
	return n
}

// eachSignature calls visit with every function type of the file, also those of literals, interfaces and fields, and with
// its number of parameters.
func (f file) eachSignature(visit func(at token.Pos, params int)) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if fn, ok := n.(*ast.FuncType); ok {
			visit(fn.Pos(), fn.Params.NumFields())
		}
		return true
	})
}

func (f file) checkLength() []Violation {
	var found []Violation
	if n := f.lines(); n > MaxFileLines {
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

func (f file) checkParams() []Violation {
	var found []Violation
	f.eachSignature(func(at token.Pos, params int) {
		if params > MaxParams {
			found = append(found, f.violation("params", at,
				"%d parameters, at most %d: give what belongs together as one value", params, MaxParams))
		}
	})
	return found
}
