package arch

import "go/ast"

// checkSkips reports Skip, Skipf, SkipNow, and testing.Short, which leads to them. The same methods of rapid's T discard
// one generated input and are allowed.
func (f file) checkSkips() []Violation {
	if !f.test {
		return nil
	}
	var found []Violation
	ast.Walk(skipVisitor{f: f, found: &found}, f.syntax)
	return found
}

// skipVisitor visits one scope: a function has the parameters of the functions around it.
type skipVisitor struct {
	f     file
	rapid map[string]bool // names of type *rapid.T
	found *[]Violation
}

func (v skipVisitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return v.inside(n.Type)
	case *ast.FuncLit:
		return v.inside(n.Type)
	case *ast.CallExpr:
		v.call(n)
	}
	return v
}

// inside returns the visitor of a function's body, whose parameters hide outer names.
func (v skipVisitor) inside(fn *ast.FuncType) skipVisitor {
	inner := map[string]bool{}
	for name, is := range v.rapid {
		inner[name] = is
	}
	for _, field := range fn.Params.List {
		for _, name := range field.Names {
			inner[name.Name] = isRapidT(field.Type)
		}
	}
	v.rapid = inner
	return v
}

func (v skipVisitor) call(call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	on, isIdent := sel.X.(*ast.Ident)
	switch sel.Sel.Name {
	case "Skip", "Skipf", "SkipNow":
		if !isIdent || !v.rapid[on.Name] {
			*v.found = append(*v.found, v.f.violation("skip", call.Pos(), "tests are not skipped: make it run, or take it out"))
		}
	case "Short":
		if isIdent && on.Name == "testing" {
			*v.found = append(*v.found, v.f.violation("skip", call.Pos(), "every run is the whole run: no testing.Short"))
		}
	}
}

func isRapidT(t ast.Expr) bool {
	star, ok := t.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "T" {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "rapid"
}
