package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/refundry/refundry/api/strictjson"
	"github.com/refundry/refundry/internal/refund/wire"
)

// mediaJSON is the media type of the bodies of requests.
const mediaJSON = "application/json"

// prepare is the middleware that checks a request before the generated code binds
// it: syntax of headers, names in the query, media type, size, and the JSON itself.
// Bodies are read whole and under a deadline.
func (s *service) prepare(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op, _ := r.Context().Value(keyOperation).(*operation)
		if err := s.prepared(w, r, op); err != nil {
			s.problems.write(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *service) prepared(w http.ResponseWriter, r *http.Request, op *operation) error {
	if err := knownQuery(r, op); err != nil {
		return err
	}
	joinLists(r.Header, "Prefer", "If-None-Match")
	if op.needsKey {
		if _, err := IdempotencyKey(r.Header); err != nil {
			return err
		}
	}
	if !op.hasBody {
		return noBody(w, r)
	}
	if op.events {
		return s.preparedEvents(w, r)
	}
	if err := jsonBody(r.Header); err != nil {
		return err
	}
	r.Header.Set("Content-Type", mediaJSON) // the generated code compares it byte by byte
	body, err := readBody(w, r, s.limits.Body)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if op.bodyFaults != nil {
		r.Body = rawBody{r.Body, string(body)}
		return nil
	}
	if f := strictjson.Check(body); f != nil {
		e := atPointer(f.Pointer, f.Detail)
		return &Problem{Code: codeMalformedJSON, Detail: sentence(e), Errors: []fieldError{e}}
	}
	return nil
}

// rawBody is a body that the handler reads itself. The generated code binds the result of ValidatedValue to a body of type
// string (runtime.BindJSONBody) instead of decoding JSON.
type rawBody struct {
	io.ReadCloser
	text string
}

// ValidatedValue is the body as it came.
func (b rawBody) ValidatedValue() any { return b.text }

// knownQuery refuses parameters that are not in the contract, empty or sent twice.
func knownQuery(r *http.Request, op *operation) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid(atParameter("query", "is not well-formed"))
	}
	for name, v := range values {
		switch {
		case !op.query[name]:
			return invalid(atParameter(clip(name), "is not a parameter of this request"))
		case len(v) > 1:
			return invalid(atParameter(name, "must be sent once"))
		case v[0] == "":
			return invalid(atParameter(name, "must not be empty"))
		}
	}
	return nil
}

// joinLists joins the lines of headers that are lists (RFC 9110 section 5.3): the
// generated code accepts one line only.
func joinLists(h http.Header, names ...string) {
	for _, name := range names {
		if lines := h.Values(name); len(lines) > 1 {
			h.Set(name, strings.Join(lines, ", "))
		}
	}
}

// noBody refuses a body. A chunked body without a byte is none: many clients send it with requests that have no body.
func noBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength < 0 {
		switch _, err := io.ReadFull(r.Body, make([]byte, 1)); {
		case errors.Is(err, io.EOF):
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
			return nil
		case err != nil:
			return notArrived(w, err)
		}
	}
	return invalid(atPointer("", "must be empty: this request has no body"))
}

// jsonBody checks the media type of a request whose body is JSON. Errors: *Problem
// unsupported-media-type.
func jsonBody(h http.Header) error {
	if err := uncompressed(h); err != nil {
		return err
	}
	media, charset, ok := wire.MediaType(h.Get("Content-Type"))
	switch {
	case !ok, len(h.Values("Content-Type")) > 1, !isRequest(media):
		return &Problem{Code: codeUnsupportedMedia, Detail: "Send " + mediaJSON + "."}
	case !wire.IsUTF8(charset):
		return &Problem{Code: codeUnsupportedMedia, Detail: "Send the body in UTF-8."}
	}
	return nil
}

// isRequest reports whether a body of a media type is a request in JSON. Of the types that end in +json, the registered ones
// (patches, problems, events) mean something else.
func isRequest(media string) bool {
	return wire.IsJSON(media) && (!strings.HasSuffix(media, "+json") || strings.HasPrefix(media, "application/vnd."))
}

// uncompressed refuses content codings. Errors: *Problem unsupported-media-type.
func uncompressed(h http.Header) error {
	if len(h.Values("Content-Encoding")) > 0 && !strings.EqualFold(h.Get("Content-Encoding"), "identity") {
		return &Problem{Code: codeUnsupportedMedia, Detail: "Send the body without Content-Encoding."}
	}
	return nil
}

// readBody reads a whole body of at most limit bytes, before the read deadline that
// was set when the request came. It removes the deadline afterwards: the server reads
// on to notice a closed connection, and the deadline would end a long wait.
// Errors: *Problem body-too-large, body-incomplete, invalid-request.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, bodyTooLarge(limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, bodyTooLarge(limit)
	case err != nil:
		return nil, notArrived(w, err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, nil
}

func bodyTooLarge(limit int64) *Problem {
	return &Problem{Code: codeTooLarge, Detail: fmt.Sprintf("The body may have at most %d bytes.", limit)}
}

// notArrived is the problem of a body that could not be read to its end: body-incomplete if the bytes stopped to come, invalid-request if
// its chunks are not well-formed. The connection cannot be used again.
func notArrived(w http.ResponseWriter, err error) *Problem {
	w.Header().Set("Connection", "close")
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Problem{Code: codeIncomplete, Detail: "The body did not arrive in time."}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Problem{Code: codeIncomplete, Detail: "The body did not arrive completely."}
	}
	return invalid(atPointer("", "has no well-formed chunks"))
}

// clip bounds a name from outside to 64 bytes before it is repeated in a problem.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
