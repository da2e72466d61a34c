package main

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one change of a source file: the bytes from start to end become text.
type mutant struct {
	key        string // package and function, a tab, the change; unique
	dir, file  string
	start, end int
	text       string
	fn         string // hash of the function's source
}

// source collects the mutants of one package, file by file.
type source struct {
	dir, path, name, hash string // name and hash of the function
	bytes                 []byte
	base                  int // token.Pos of the file's first byte
	out                   []mutant
	made                  map[string]int // changes by place, and keys
}

// mutantsOf returns the mutants of a package's files, in the order of the source. Tests have none.
func mutantsOf(dir string) []mutant {
	s := &source{dir: dir, made: map[string]int{}}
	for _, s.path = range must(filepath.Glob(filepath.Join(dir, "*.go"))) {
		if strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		s.bytes = must(os.ReadFile(s.path))
		f := must(parser.ParseFile(token.NewFileSet(), s.path, s.bytes, parser.SkipObjectResolution))
		s.base = int(f.FileStart)
		for _, d := range f.Decls {
			s.name, s.hash = "var", fmt.Sprintf("%.8x", sha256.Sum256([]byte(s.of(d))))
			if fn, ok := d.(*ast.FuncDecl); ok {
				if s.name = fn.Name.Name; fn.Recv != nil {
					s.name = s.of(fn.Recv.List[0].Type) + "." + s.name
				}
				s.visit(fn.Body, fn.Type)
			} else {
				s.visit(d, nil)
			}
		}
	}
	return s.out
}

// visit makes the mutants of the nodes below root, in a function of type t.
func (s *source) visit(root ast.Node, t *ast.FuncType) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if t == nil { // of the package
				s.name = "var " + n.Names[0].Name
			}
		case *ast.FuncLit:
			s.visit(n.Body, n.Type)
			return false
		case *ast.IfStmt:
			s.negate(n.Cond)
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				if c, ok := c.(*ast.CaseClause); ok && n.Tag == nil && len(c.List) == 1 {
					s.negate(c.List[0])
				}
			}
		case *ast.BinaryExpr:
			if op, ok := bounds[n.Op]; ok {
				s.add(n, s.of(n.X)+" "+op+" "+s.of(n.Y))
			}
			if n.Op == token.LAND || n.Op == token.LOR {
				s.negate(n)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 1 && moments[f.Sel.Name] != "" {
				s.add(n, fmt.Sprintf("!(%s).%s(%s)", s.of(n.Args[0]), moments[f.Sel.Name], s.of(f.X)))
			}
		case *ast.BlockStmt:
			s.remove(n.List)
		case *ast.CaseClause:
			s.remove(n.Body)
		case *ast.ReturnStmt:
			s.swap(n, t)
		}
		return true
	})
}

// Boundaries of numbers and of times, and other values to return.
var (
	bounds  = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}
	moments = map[string]string{"Before": "After", "After": "Before"}
	swapped = map[string]string{"error": "nil", "string": `""`, "int": "0", "int64": "0"}
)

// negate negates each part of a condition.
func (s *source) negate(e ast.Expr) {
	if x, ok := e.(*ast.BinaryExpr); ok && (x.Op == token.LAND || x.Op == token.LOR) {
		s.negate(x.X)
		s.negate(x.Y)
		return
	}
	s.add(e, "!("+s.of(e)+")")
}

// remove removes assignments, calls and counts. The values of an assignment are still computed, so that what it reads stays used.
func (s *source) remove(list []ast.Stmt) {
	for _, st := range list {
		switch x := st.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt:
			s.add(st, "")
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE && !strings.HasPrefix(s.of(x), "_") {
				values := s.bytes[int(x.Rhs[0].Pos())-s.base : int(x.End())-s.base]
				s.add(st, strings.Repeat("_, ", len(x.Lhs)-1)+"_ = "+string(values))
			}
		}
	}
}

// swap returns another value: the opposite truth, no error, an empty text, zero.
func (s *source) swap(n *ast.ReturnStmt, t *ast.FuncType) {
	if t == nil || t.Results == nil || len(n.Results) != t.Results.NumFields() {
		return
	}
	i := 0
	for _, field := range t.Results.List {
		for range max(1, len(field.Names)) {
			if to := swapped[s.of(field.Type)]; s.of(field.Type) == "bool" {
				s.negate(n.Results[i])
			} else if to != "" && to != s.of(n.Results[i]) {
				s.add(n.Results[i], to)
			}
			i++
		}
	}
}

func (s *source) of(n ast.Node) string {
	return string(s.bytes[int(n.Pos())-s.base : int(n.End())-s.base])
}

func (s *source) add(n ast.Node, text string) {
	m := mutant{dir: s.dir, file: s.path, start: int(n.Pos()) - s.base, end: int(n.End()) - s.base, text: text, fn: s.hash}
	place := fmt.Sprint(m.file, m.start, m.end, text)
	if s.made[place]++; s.made[place] > 1 {
		return // a condition that is a part of another one
	}
	m.key = filepath.Base(s.dir) + " " + s.name + "\t" + strings.Join(strings.Fields(s.of(n)+" → "+text), " ")
	if s.made[m.key]++; s.made[m.key] > 1 {
		m.key += fmt.Sprintf(" #%d", s.made[m.key])
	}
	s.out = append(s.out, m)
}
