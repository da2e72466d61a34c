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

// source collects the mutants of one file.
type source struct {
	dir, path string
	bytes     []byte
	base      int // token.Pos of the file's first byte
	fn        string
	hash      string
	out       []mutant
	done      map[string]bool // changes that were made already, by place and text
	times     map[string]int  // keys that were used already
}

// mutantsOf returns the mutants of a package's files, in the order of the source. Files of tests and generated files have none.
func mutantsOf(dir string) ([]mutant, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []mutant
	times := map[string]int{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path) // #nosec G304 -- a file of this repository
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(f) {
			continue
		}
		s := &source{dir: dir, path: path, bytes: text, base: int(f.FileStart), done: map[string]bool{}, times: times}
		for _, d := range f.Decls {
			s.declaration(d)
		}
		out = append(out, s.out...)
	}
	return out, nil
}

func (s *source) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = s.of(d.Recv.List[0].Type) + "." + name
		}
		s.walk(name, d, d.Type)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				s.walk("var "+v.Names[0].Name, v, nil)
			}
		}
	}
}

// walk visits the nodes of a function, or of a variable whose value has functions. t is the type of the function around a node.
func (s *source) walk(name string, root ast.Node, t *ast.FuncType) {
	s.fn, s.hash = name, fmt.Sprintf("%.8x", sha256.Sum256([]byte(s.of(root))))
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			s.nodes(n.Body, n.Type)
			return false
		case *ast.FuncDecl:
			s.nodes(n.Body, t)
			return false
		}
		return true
	})
}

func (s *source) nodes(body ast.Node, t *ast.FuncType) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			s.nodes(n.Body, n.Type)
			return false
		case *ast.IfStmt:
			s.negate(n.Cond)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, c := range n.Body.List {
					for _, cond := range c.(*ast.CaseClause).List {
						s.negate(cond)
					}
				}
			}
		case *ast.BinaryExpr:
			s.binary(n)
		case *ast.CallExpr:
			s.moment(n)
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

// negate negates each part of a condition.
func (s *source) negate(e ast.Expr) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		s.negate(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.LAND || x.Op == token.LOR {
			s.negate(x.X)
			s.negate(x.Y)
			return
		}
		s.add(e, "!("+s.of(e)+")")
	default:
		s.add(e, "!("+s.of(e)+")")
	}
}

var bounds = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// binary moves the boundary of a comparison, and negates the parts of a conjunction that is no condition of an if.
func (s *source) binary(n *ast.BinaryExpr) {
	if op, ok := bounds[n.Op]; ok {
		s.add(n, s.of(n.X)+" "+op+" "+s.of(n.Y))
	}
	if n.Op == token.LAND || n.Op == token.LOR {
		s.negate(n)
	}
}

// moment moves the boundary of a comparison of times.
func (s *source) moment(n *ast.CallExpr) {
	f, ok := n.Fun.(*ast.SelectorExpr)
	if other := map[string]string{"Before": "After", "After": "Before"}; ok && len(n.Args) == 1 && other[f.Sel.Name] != "" {
		s.add(n, fmt.Sprintf("!(%s).%s(%s)", s.of(n.Args[0]), other[f.Sel.Name], s.of(f.X)))
	}
}

// remove removes assignments, calls and counts. The values of an assignment are still computed, so that what it reads stays used.
func (s *source) remove(list []ast.Stmt) {
	for _, st := range list {
		switch x := st.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt:
			s.add(st, "")
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE && !strings.HasPrefix(s.of(x), "_") {
				values := s.of(x.Rhs[0])
				for _, v := range x.Rhs[1:] {
					values += ", " + s.of(v)
				}
				s.add(st, strings.Repeat("_, ", len(x.Lhs)-1)+"_ = "+values)
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
			e, now := n.Results[i], s.of(n.Results[i])
			i++
			switch other := map[string]string{"error": "nil", "string": `""`, "int": "0", "int64": "0"}[s.of(field.Type)]; {
			case s.of(field.Type) != "bool":
				if other != "" && now != other {
					s.add(e, other)
				}
			case now == "true":
				s.add(e, "false")
			case now == "false":
				s.add(e, "true")
			default:
				s.negate(e)
			}
		}
	}
}

func (s *source) of(n ast.Node) string {
	return string(s.bytes[int(n.Pos())-s.base : int(n.End())-s.base])
}

func (s *source) add(n ast.Node, text string) {
	m := mutant{dir: s.dir, file: s.path, start: int(n.Pos()) - s.base, end: int(n.End()) - s.base, text: text, fn: s.hash}
	place := fmt.Sprint(m.start, m.end, text)
	if s.done[place] {
		return
	}
	s.done[place] = true
	if text == "" {
		text = "(removed)"
	}
	line := func(t string) string { return strings.Join(strings.Fields(t), " ") }
	m.key = filepath.Base(s.dir) + " " + s.fn + "\t" + line(s.of(n)) + " → " + line(text)
	if s.times[m.key]++; s.times[m.key] > 1 {
		m.key += fmt.Sprintf(" #%d", s.times[m.key])
	}
	s.out = append(s.out, m)
}
