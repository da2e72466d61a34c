package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
)

type contextKey int

const (
	keyRequestID contextKey = iota
	keyPrincipal
	keyOperation
	keyAttributes
)

// requestID is the id of the request that ctx belongs to, "" outside of one.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(keyRequestID).(string)
	return id
}

// safeRequestID takes ids that are safe in a log line and in a header.
func safeRequestID(id string) bool {
	if len(id) == 0 || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// newRequestID makes a uuid v7; where the system gives no randomness, the time alone.
func newRequestID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return "t" + time.Now().UTC().Format("20060102T150405.000000000")
	}
	return id.String()
}

// outer wraps everything else: id, headers that every answer carries, the
// panic guard, and one log line per request.
type outer struct {
	next     http.Handler
	problems *problems
	log      *slog.Logger
	clock    func() time.Time
	bodyTime time.Duration
}

func (o *outer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Request-Id")
	if !safeRequestID(id) {
		id = newRequestID()
	}
	started := o.clock()
	rec := &recorder{ResponseWriter: w}
	secureHeaders(rec.Header())
	rec.Header().Set("X-Request-Id", id)
	r = r.WithContext(context.WithValue(r.Context(), keyRequestID, id))
	if r.ContentLength != 0 {
		// Also where nobody reads the body: the server drains what is left of it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(o.bodyTime))
	}
	defer func() {
		if cause := recover(); cause != nil {
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			o.log.Error("panic in a handler", "requestId", id, "path", r.URL.Path, "cause", cause, "stack", string(debug.Stack()))
			if rec.status != 0 {
				panic(http.ErrAbortHandler) // half an answer must not look like a whole one
			}
			o.problems.write(rec, r, &Problem{Code: codeInternal})
		}
		o.line(r, rec, id, o.clock().Sub(started))
	}()
	o.next.ServeHTTP(rec, r)
}

// line logs a request: errors of ours loudly, the caller's quietly, the rest for debugging.
// The query is left out, since it may hold what callers look for.
func (o *outer) line(r *http.Request, rec *recorder, id string, took time.Duration) {
	level := slog.LevelDebug
	switch {
	case rec.status >= 500:
		level = slog.LevelWarn
	case rec.status >= 400:
		level = slog.LevelInfo
	}
	if !o.log.Enabled(r.Context(), level) {
		return
	}
	o.log.Log(r.Context(), level, "request", "requestId", id, "method", r.Method, "path", r.URL.Path,
		"status", rec.status, "bytes", rec.bytes, "took", took.String())
}

// secureHeaders sets what every answer carries; pages for people loosen the policy for themselves.
func secureHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cache-Control", "no-store")
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int // 0 = nothing written yet
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
