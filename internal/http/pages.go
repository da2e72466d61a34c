package httpapi

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/swaggest/swgui/v5emb"

	"github.com/refundry/refundry/api"
	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
)

//go:embed static
var static embed.FS

const (
	// docsPolicy allows the API reference to run its own script files and to call this
	// host. Its scripts set styles, so inline styles have to be allowed.
	docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
		"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
	// pagePolicy is the policy of pages without script.
	pagePolicy = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
	// cacheOneHour is the cache policy of the files of pages.
	cacheOneHour = "public, max-age=3600"
)

// mountPages serves the contract, the API reference and the pages of problems. All
// files are embedded.
func (s *service) mountPages(root chi.Router) error {
	pages, err := template.ParseFS(static, "static/problem.html", "static/problems.html")
	if err != nil {
		return err
	}
	root.Get("/openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(api.OpenAPI)
	})
	root.Get("/docs", s.file("docs.html", "text/html; charset=utf-8", docsPolicy))
	root.Get("/docs/init.js", s.file("init.js", "text/javascript; charset=utf-8", docsPolicy))
	root.Get("/docs/page.css", s.file("page.css", "text/css; charset=utf-8", pagePolicy))
	assets := v5emb.New("Refundry API", "/openapi.yaml", "/docs/")
	for _, name := range []string{"swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"} {
		root.Get("/docs/"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", cacheOneHour)
			assets.ServeHTTP(w, r)
		})
	}
	root.Get("/problems", s.problemIndex(pages.Lookup("problems.html")))
	root.With(decodePath).Get("/problems/{code}", s.problemPage(pages.Lookup("problem.html")))
	return nil
}

func (s *service) file(name, contentType, policy string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := static.ReadFile("static/" + name)
		if err != nil {
			s.problems.write(w, r, err)
			return
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cache-Control", cacheOneHour)
		_, _ = w.Write(body)
	}
}

func (s *service) problemIndex(page *template.Template) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !wantsJSON(r) {
			s.page(w, r, page, Catalog())
			return
		}
		out := []oapi.ProblemType{}
		for _, c := range Catalog() {
			out = append(out, problemTypeOf(c))
		}
		writeJSON(w, http.StatusOK, out)
	}
}

func (s *service) problemPage(page *template.Template) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		info, ok := s.problems.table[refund.Code(chi.URLParam(r, "code"))]
		switch {
		case !ok:
			s.problems.write(w, r, refund.ErrNotFound)
		case wantsJSON(r):
			writeJSON(w, http.StatusOK, problemTypeOf(info))
		default:
			s.page(w, r, page, problemTypeOf(info))
		}
	}
}

func (s *service) page(w http.ResponseWriter, r *http.Request, t *template.Template, data any) {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		s.problems.write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	_, _ = w.Write(b.Bytes())
}

// wantsJSON reports whether to answer with JSON: the Accept header names JSON or does not name HTML.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "json") || !strings.Contains(accept, "text/html")
}

func problemTypeOf(c CodeInfo) oapi.ProblemType {
	return oapi.ProblemType{Code: string(c.Code), Status: c.Status, Title: c.Title, Meaning: withoutMarkup(c.Meaning),
		Action: withoutMarkup(c.Action), Retryable: c.Retryable}
}

// withoutMarkup removes the Markdown from a text of the catalog.
func withoutMarkup(s string) string { return strings.ReplaceAll(s, "`", "") }
