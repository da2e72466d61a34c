package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/refundry/refundry/api/strictjson"
)

// asRequestSchemas changes the contract, which the caller must not share, for the validator of requests.
//
// The contract is OpenAPI 3.1, and the validator reads it as 3.0. For 3.1 it would
// compile a schema for every value of every request, and its messages would quote the
// values. The schemas of requests mean the same in both versions.
func asRequestSchemas(spec *openapi3.T) {
	spec.OpenAPI = "3.0.3"
}

// validate is the middleware that checks a request against the contract. Events are checked one by one, and some bodies are read by package
// wire. Keys are checked by admit.
func (s *service) validate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op, _ := r.Context().Value(keyOperation).(*operation)
		err := openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
			Request: r, PathParams: pathValues(r), Route: op.route,
			Options: &openapi3filter.Options{MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true,
				ExcludeRequestBody: op.events || op.bodyFaults != nil},
		})
		if err != nil {
			s.problems.write(w, r, problemOfParameters(r, err, s.clock()))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// faultsOfValidation turns what the validator found into places and clauses of ours, in the order of their sentences. The
// validator's own texts hold schemas and values and are not shown.
func faultsOfValidation(err error) []fieldError {
	var found []fieldError
	collect(err, &found)
	slices.SortStableFunc(found, func(a, b fieldError) int { return strings.Compare(sentence(a), sentence(b)) })
	return slices.CompactFunc(found, func(a, b fieldError) bool { return sentence(a) == sentence(b) })
}

func collect(err error, into *[]fieldError) {
	switch e := err.(type) { //nolint:errorlint // the outermost error decides, what it wraps are its details
	case *openapi3filter.RequestError:
		*into = append(*into, ofRequestError(e)...)
	case openapi3.MultiError:
		for _, x := range e {
			collect(x, into)
		}
	}
}

func ofRequestError(e *openapi3filter.RequestError) []fieldError {
	place := func(pointer []string, detail string) fieldError { return atPointer(join(pointer), detail) }
	if p := e.Parameter; p != nil {
		place = func(_ []string, detail string) fieldError {
			if p.In == openapi3.ParameterInHeader {
				return atHeader(p.Name, detail)
			}
			return atParameter(p.Name, detail)
		}
	}
	var out []fieldError
	for _, s := range schemaErrors(e.Err) {
		if s.SchemaField == "properties" {
			out = append(out, unknownMembers(s)...)
			continue
		}
		out = append(out, place(s.JSONPointer(), clause(s)))
	}
	if len(out) > 0 {
		return out
	}
	if errors.Is(e.Err, openapi3filter.ErrInvalidRequired) {
		return []fieldError{place(nil, "is required")}
	}
	return []fieldError{place(nil, "has the wrong form")}
}

func schemaErrors(err error) []*openapi3.SchemaError {
	switch e := err.(type) { //nolint:errorlint // the outermost error decides, what it wraps are its details
	case *openapi3.SchemaError:
		return []*openapi3.SchemaError{e}
	case openapi3.MultiError:
		var out []*openapi3.SchemaError
		for _, x := range e {
			out = append(out, schemaErrors(x)...)
		}
		return out
	}
	return nil
}

// unknownMembers are the faults of all members that are not in the schema. The error of
// the validator names the object only.
func unknownMembers(s *openapi3.SchemaError) []fieldError {
	members, _ := s.Value.(map[string]any)
	var out []fieldError
	for name := range members {
		if s.Schema.Properties[name] == nil {
			out = append(out, atPointer(join(append(s.JSONPointer(), clip(name))), "is not a known member"))
		}
	}
	return out
}

func join(pointer []string) string {
	var b strings.Builder
	for _, step := range pointer {
		b.WriteByte('/')
		b.WriteString(strictjson.Escape(clip(step)))
	}
	return b.String()
}

// clause is what a schema demands. It quotes the contract, never the request.
func clause(s *openapi3.SchemaError) string {
	c := s.Schema
	switch s.SchemaField {
	case "required":
		return "is required"
	case "nullable":
		return "must not be null"
	case "type":
		if c != nil && c.Type != nil {
			return "must be of type " + strings.Join(c.Type.Slice(), " or ")
		}
	case "minimum":
		return "must be at least " + number(c.Min)
	case "maximum":
		return "must be at most " + number(c.Max)
	case "minLength":
		return fmt.Sprintf("must have at least %d characters", c.MinLength)
	case "maxLength":
		return fmt.Sprintf("must have at most %d characters", *c.MaxLength)
	case "minItems":
		return fmt.Sprintf("must have at least %d items", c.MinItems)
	case "maxItems":
		return fmt.Sprintf("must have at most %d items", *c.MaxItems)
	case "maxProperties":
		return fmt.Sprintf("must have at most %d members", *c.MaxProps)
	case "pattern":
		return "must match " + c.Pattern
	case "format":
		return "must have the format " + c.Format
	case "enum":
		return "must be one of " + words(c.Enum)
	}
	return "has the wrong form"
}

func number(v *float64) string {
	if v == nil {
		return "the bound"
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

func words(enum []any) string {
	out := make([]string, len(enum))
	for i, v := range enum {
		out[i] = fmt.Sprint(v)
	}
	return strings.Join(out, ", ")
}
