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
	keyEvents
	keyConnection
)

// requestID is the id of the request of ctx, "" outside of a request.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(keyRequestID).(string)
	return id
}

// safeRequestID reports whether an id is safe in a log line and in a header.
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

// newRequestID returns a UUID v7, or the time if the system has no randomness.
func newRequestID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return "t" + time.Now().UTC().Format("20060102T150405.000000000")
	}
	return id.String()
}

// outer is the outermost handler: request id, security headers, panic guard, and one
// log line per request.
type outer struct {
	next     http.Handler
	problems *problems
	log      *slog.Logger
	clock    func() time.Time
	bodyTime time.Duration
	retiring <-chan struct{} // closed when each answer shall close its connection
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
	select {
	case <-o.retiring:
		rec.Header().Set("Connection", "close")
	default:
	}
	r = r.WithContext(context.WithValue(detached(r.Context()), keyRequestID, id))
	if r.ContentLength != 0 {
		// Also for bodies that no handler reads: the server drains them.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(o.bodyTime))
	}
	defer func() {
		if cause := recover(); cause != nil {
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			o.log.Error("panic in a handler", "requestId", id, "path", r.URL.Path, "cause", cause, "stack", string(debug.Stack()))
			if rec.status != 0 {
				panic(http.ErrAbortHandler) // a partial answer must not look complete
			}
			o.problems.write(rec, r, &Problem{Code: codeInternal})
		}
		o.line(r, rec, id, o.clock().Sub(started))
	}()
	o.next.ServeHTTP(rec, r)
}

// detached is the context of a request without its end by the connection: net/http ends it when the client closes its half of the
// connection, which says nothing about whether the client reads the answer. Every request has a time limit instead.
func detached(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), keyConnection, ctx.Done())
}

// hungUp is closed when the client sends no more, because it closed the connection or its half of it.
func hungUp(ctx context.Context) <-chan struct{} {
	done, _ := ctx.Value(keyConnection).(<-chan struct{})
	return done
}

// line logs a request: status 5xx as warning, 4xx as info, the rest for debugging. The
// query is left out, because it may contain personal data.
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

// secureHeaders sets the security headers of every answer. Pages set a policy of their own.
func secureHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cache-Control", "no-store")
}

// recorder records status and size of an answer.
type recorder struct {
	http.ResponseWriter
	status int // 0 = nothing has been written
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

// Unwrap gives http.ResponseController access to the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
