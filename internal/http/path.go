package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
)

// routePath is the middleware that lets a path be routed by its decoded form: clients encode different characters, and rf%3A1 and rf:1 are
// the same segment (RFC 3986 section 6.2.2). Only a path with an encoded slash is routed in its encoded form, in which each segment
// is encoded the same way, whatever the client encoded.
func routePath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawPath != "" {
			r = withRawPath(r, canonicalPath(r.URL.RawPath))
		}
		next.ServeHTTP(w, r)
	})
}

// canonicalPath encodes each segment of an encoded path again; "" = no segment has a slash.
func canonicalPath(raw string) string {
	if !strings.Contains(strings.ToLower(raw), "%2f") {
		return ""
	}
	segments := strings.Split(raw, "/")
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil { // net/http has refused a path with an error
			segments[i] = url.PathEscape(decoded)
		}
	}
	return strings.Join(segments, "/")
}

// decodePath is the middleware behind the router that decodes the values of the path once. The handlers, the validator and the generated code
// get them decoded.
func decodePath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawPath != "" {
			values := chi.RouteContext(r.Context()).URLParams.Values
			for i, v := range values {
				if decoded, err := url.PathUnescape(v); err == nil {
					values[i] = decoded
				}
			}
			r = withRawPath(r, "") // the generated code decodes values if there is one
		}
		next.ServeHTTP(w, r)
	})
}

func withRawPath(r *http.Request, raw string) *http.Request {
	out, u := *r, *r.URL
	u.RawPath = raw
	out.URL = &u
	return &out
}

// pathValues are the values of the path by their names.
func pathValues(r *http.Request) map[string]string {
	params := chi.RouteContext(r.Context()).URLParams
	out := make(map[string]string, len(params.Keys))
	for i, key := range params.Keys {
		if i < len(params.Values) {
			out[key] = params.Values[i]
		}
	}
	return out
}

// headAsGet is the middleware that answers HEAD as GET; net/http leaves the body out (RFC 9110 section 9.3.2).
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			get := *r
			get.Method = http.MethodGet
			r = &get
		}
		next.ServeHTTP(w, r)
	})
}
