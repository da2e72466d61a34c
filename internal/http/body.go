package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/refundry/refundry/api/strictjson"
)

// mediaEventBatch is the media type of several events in one body.
const mediaEventBatch = "application/cloudevents-batch+json"

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
		return noBody(r)
	}
	mediaType, err := mediaTypeOf(r.Header, op)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", mediaType) // the generated code compares it byte by byte
	limit := s.limits.Body
	if op.events {
		limit = s.limits.Events
	}
	body, err := readBody(w, r, limit)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if op.bodyFaults != nil {
		r.Body = rawBody{r.Body, string(body)}
		return nil
	}
	if err := checkJSON(body, mediaType, op); err != nil {
		return err
	}
	if op.events {
		attributes, err := binaryAttributes(r.Header)
		if err != nil {
			return err
		}
		*r = *r.WithContext(context.WithValue(r.Context(), keyAttributes, attributes))
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

func noBody(r *http.Request) error {
	if r.ContentLength != 0 {
		return invalid(atPointer("", "must be empty: this request has no body"))
	}
	return nil
}

// mediaTypeOf returns the media type without parameters. Errors: *Problem
// unsupported-media-type.
func mediaTypeOf(h http.Header, op *operation) (string, error) {
	wanted := slices.Sorted(slices.Values(op.mediaTypes))
	refused := &Problem{Code: codeUnsupportedMedia, Detail: "Send " + strings.Join(wanted, " or ") + "."}
	if len(h.Values("Content-Encoding")) > 0 && !strings.EqualFold(h.Get("Content-Encoding"), "identity") {
		return "", &Problem{Code: codeUnsupportedMedia, Detail: "Send the body without Content-Encoding."}
	}
	lines := h.Values("Content-Type")
	if len(lines) != 1 {
		return "", refused
	}
	mediaType, params, err := mime.ParseMediaType(lines[0])
	if err != nil || !slices.Contains(op.mediaTypes, mediaType) {
		return "", refused
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return "", &Problem{Code: codeUnsupportedMedia, Detail: "Send the body in UTF-8."}
	}
	return mediaType, nil
}

// readBody reads a whole body of at most limit bytes, before the read deadline that
// was set when the request came. It removes the deadline afterwards: the server reads
// on to notice a closed connection, and the deadline would end a long wait.
// Errors: *Problem body-too-large, invalid-request.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, bodyTooLarge(limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, bodyTooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, invalid(atPointer("", "did not arrive in time"))
	case err != nil:
		w.Header().Set("Connection", "close")
		return nil, invalid(atPointer("", "did not arrive completely"))
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, nil
}

func bodyTooLarge(limit int64) *Problem {
	return &Problem{Code: codeTooLarge, Detail: fmt.Sprintf("The body may have at most %d bytes.", limit)}
}

// checkJSON checks that the body is strict JSON. Bodies of events only have to be
// JSON that can be split: each event is checked by itself, so that one bad event does
// not block the others of its batch.
func checkJSON(body []byte, mediaType string, op *operation) error {
	fault := strictjson.Check
	if op.events {
		fault = strictjson.CheckSyntax
	}
	f := fault(body)
	if f == nil && mediaType == mediaEventBatch {
		_, f = strictjson.Elements(body)
	}
	if f == nil {
		return nil
	}
	e := atPointer(f.Pointer, f.Detail)
	return &Problem{Code: codeMalformedJSON, Detail: sentence(e), Errors: []fieldError{e}}
}

// clip bounds a name from outside to 64 bytes before it is repeated in a problem.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
