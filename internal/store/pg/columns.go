package pg

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A row struct stands for one row of a result: every field is exported and has a tag `sql` with the expression that fills it.

// Columns lists the expressions of the row struct T in the order of its fields, for a SELECT that Scan reads.
func Columns[T any]() string {
	t := reflect.TypeFor[T]()
	out := make([]string, t.NumField())
	for i := range out {
		if out[i] = t.Field(i).Tag.Get("sql"); out[i] == "" {
			panic(fmt.Sprintf("pg: field %s of %s has no tag sql", t.Field(i).Name, t))
		}
	}
	return strings.Join(out, ", ")
}

// Scan reads Columns[T], then the further columns of the query into more.
func Scan[T any](row pgx.Row, more ...any) (*T, error) {
	out := new(T)
	v := reflect.ValueOf(out).Elem()
	to := make([]any, 0, v.NumField()+len(more))
	for i := range v.NumField() {
		to = append(to, v.Field(i).Addr().Interface())
	}
	return out, row.Scan(append(to, more...)...)
}

// Statement is SQL with named parameters, which are the fields of T with a tag `arg`.
type Statement[T any] struct {
	SQL    string // with $1, $2, …
	fields []int  // of T, one for each parameter
}

var namedParameter = regexp.MustCompile(`@[a-z_]+`)

// Named makes a statement of text, in which @name stands for the field of T with the tag arg:"name". The parameters are numbered once,
// here. It panics on a name that no field has.
func Named[T any](text string) Statement[T] {
	t := reflect.TypeFor[T]()
	fields := map[string]int{}
	for i := range t.NumField() {
		fields["@"+t.Field(i).Tag.Get("arg")] = i
	}
	var s Statement[T]
	numbers := map[string]string{}
	s.SQL = namedParameter.ReplaceAllStringFunc(text, func(name string) string {
		if numbers[name] == "" {
			i, known := fields[name]
			if !known {
				panic(fmt.Sprintf("pg: %s has no field for %s", t, name))
			}
			s.fields = append(s.fields, i)
			numbers[name] = fmt.Sprintf("$%d", len(s.fields))
		}
		return numbers[name]
	})
	return s
}

// Args gives the arguments in the order of the statement's parameters.
func (s Statement[T]) Args(row *T) []any {
	v := reflect.ValueOf(row).Elem()
	out := make([]any, len(s.fields))
	for n, i := range s.fields {
		out[n] = v.Field(i).Interface()
	}
	return out
}
