package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/refundry/refundry/internal/http/oapi"
)

// mount builds the handler of all paths.
func (s *service) mount(c Config) (http.Handler, error) {
	root := chi.NewRouter()
	root.Use(headAsGet, routePath)
	root.NotFound(func(w http.ResponseWriter, r *http.Request) {
		s.problems.write(w, r, &Problem{Code: "not-found"})
	})
	root.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		s.problems.write(w, r, &Problem{Code: codeMethodNotAllowed, Allow: allowed(root, or(r.URL.RawPath, r.URL.Path))})
	})
	root.Get("/livez", s.livez)
	root.Get("/readyz", s.readyz)
	root.Get("/version", s.version)
	if c.Metrics != nil {
		root.Method(http.MethodGet, "/metrics", c.Metrics)
	}
	if c.Notices != nil {
		root.With(s.timed, decodePath).Post(noticePath, s.receiveNotice)
	}
	if err := s.mountPages(root); err != nil {
		return nil, err
	}
	root.Group(func(v1 chi.Router) {
		v1.Use(s.timed, decodePath, s.admit, s.prepare, s.validate)
		strict := oapi.NewStrictHandlerWithOptions(s, nil, oapi.StrictHTTPServerOptions{
			RequestErrorHandlerFunc: s.badRequest, ResponseErrorHandlerFunc: s.problems.write,
		})
		oapi.HandlerWithOptions(strict, oapi.ChiServerOptions{BaseRouter: v1, ErrorHandlerFunc: s.badRequest})
	})
	return root, nil
}

// badRequest answers requests that the generated code cannot bind. This is rare,
// because the validator has accepted them. The errors quote the request, so their texts
// are neither shown nor logged.
func (s *service) badRequest(w http.ResponseWriter, r *http.Request, err error) {
	s.problems.log.InfoContext(r.Context(), "a valid request could not be bound", "requestId", requestID(r.Context()), "kind", kindOf(err))
	s.problems.write(w, r, &Problem{Code: codeInvalidRequest})
}

// timed bounds the time of a request: the limit plus the wait that the caller asks for.
func (s *service) timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		most := s.limits.Request
		if r.ContentLength != 0 {
			most += s.limits.BodyTime
		}
		if prefer := r.Header.Get("Prefer"); prefer != "" {
			wait, _ := preferredWait(&prefer)
			most += wait
		}
		ctx, cancel := context.WithTimeout(r.Context(), most)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// allowed lists the methods of a path.
func allowed(routes chi.Routes, path string) []string {
	var out []string
	for _, m := range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch, http.MethodPost, http.MethodPut} {
		served := m
		if m == http.MethodHead {
			served = http.MethodGet
		}
		if routes.Match(chi.NewRouteContext(), served, path) {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return out
}
