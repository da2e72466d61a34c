package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/wire"
)

// retryAfter is the Retry-After of retryable problems, in seconds.
const retryAfter = 1

// maxFieldErrors bounds the faults in one problem document.
const maxFieldErrors = 20

// Problem is an error that may be shown to the caller. Status, title and the default
// of Detail come from the catalog.
type Problem struct {
	Code     refund.Code
	Detail   string       // never contains stored values or secrets
	Fields   []string     // names of differing parameters (409)
	Errors   []fieldError // the faults with their places (400)
	Replayed bool         // the answer repeats an earlier decision
	Allow    []string     // methods, for 405
	Checks   []oapi.HealthCheck
}

func (p *Problem) Error() string { return "httpapi: " + string(p.Code) }

// problems writes errors as RFC 9457 documents. No other code does.
type problems struct {
	table map[refund.Code]CodeInfo
	log   *slog.Logger
}

func newProblems(log *slog.Logger) *problems {
	table := map[refund.Code]CodeInfo{}
	for _, c := range Catalog() {
		table[c.Code] = c
	}
	return &problems{table: table, log: log}
}

// write answers a request with the problem of err. An unexpected error becomes a fixed
// sentence and a log line.
func (ps *problems) write(w http.ResponseWriter, r *http.Request, err error) {
	p := ps.of(r.Context(), err)
	info, known := ps.table[p.Code]
	if !known {
		ps.log.ErrorContext(r.Context(), "problem code without a row in the catalog", "code", string(p.Code))
		p, info = &Problem{Code: codeInternal}, ps.table[codeInternal]
	}
	if rw, ok := w.(*recorder); ok && rw.status != 0 {
		return // the answer has begun already
	}
	h := w.Header()
	h.Del("ETag")
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if info.Retryable && info.Status != http.StatusUnprocessableEntity {
		h.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	if info.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="refundry"`)
	}
	if len(p.Allow) > 0 {
		h.Set("Allow", strings.Join(p.Allow, ", "))
	}
	if p.Replayed {
		h.Set("Idempotency-Replayed", "true")
	}
	body := encodeJSON(ps.document(p, info, requestID(r.Context())))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(info.Status)
	_, _ = w.Write(body)
}

func (ps *problems) document(p *Problem, info CodeInfo, id string) oapi.Problem {
	doc := oapi.Problem{Type: "/problems/" + string(info.Code), Title: info.Title, Status: info.Status, Code: string(info.Code),
		Detail: p.Detail, Retryable: info.Retryable, RequestId: id}
	if doc.Detail == "" {
		doc.Detail = info.Detail
	}
	if len(p.Fields) > 0 {
		doc.Fields = &p.Fields
	}
	if len(p.Errors) > 0 {
		some := p.Errors[:min(len(p.Errors), maxFieldErrors)]
		doc.Errors = &some
	}
	if len(p.Checks) > 0 {
		doc.Checks = &p.Checks
	}
	return doc
}

// of returns the problem that stands for an error.
func (ps *problems) of(ctx context.Context, err error) *Problem {
	var own *Problem
	var domain *refund.Problem
	var tooLarge *http.MaxBytesError
	var notAllowed *refund.NotAllowed
	var cannotAsk refund.CannotAsk
	var refused *wire.Error
	var guard *refund.GuardError
	switch {
	case errors.As(err, &guard):
		ps.log.ErrorContext(ctx, "a guard refused a change", "guard", guard.Guard, "error", err.Error(), "requestId", requestID(ctx))
		return &Problem{Code: codeInvalidRequest, Detail: "The change was refused by the guard " + guard.Guard + ". Nothing was stored."}
	case errors.As(err, &refused):
		return problemOfBody(refused)
	case errors.As(err, &notAllowed):
		return &Problem{Code: refund.CodeDecisionNotAllowed, Detail: notAllowed.Why.Text()}
	case errors.As(err, &cannotAsk):
		return &Problem{Code: refund.CodeCannotAsk, Detail: string(cannotAsk)}
	case errors.As(err, &own):
		return own
	case errors.As(err, &domain):
		return &Problem{Code: domain.Code, Fields: domain.Fields}
	case errors.As(err, &tooLarge):
		return bodyTooLarge(tooLarge.Limit)
	case errors.Is(err, refund.ErrNotFound):
		return &Problem{Code: refund.CodeNotFound}
	case errors.Is(err, refund.ErrBusy), errors.Is(err, refund.ErrNotOwner):
		return &Problem{Code: refund.CodeInProgress}
	case errors.Is(err, refund.ErrNotCancelable):
		return &Problem{Code: refund.CodeNotCancelable}
	case errors.Is(err, refund.ErrOverloaded):
		return &Problem{Code: codeOverloaded}
	case errors.Is(err, refund.ErrUnavailable), errors.Is(err, refund.ErrCommitUnknown), errors.Is(err, refund.ErrNoChannel):
		ps.log.WarnContext(ctx, "dependency unavailable", "error", err.Error(), "requestId", requestID(ctx))
		return &Problem{Code: codeUnavailable}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Problem{Code: codeUnavailable, Detail: "The answer took too long."}
	}
	ps.log.ErrorContext(ctx, "request failed", "error", err.Error(), "requestId", requestID(ctx))
	return &Problem{Code: codeInternal}
}

// info returns the row of a code in the catalog, or that of internal.
func (ps *problems) info(c refund.Code) CodeInfo {
	if i, ok := ps.table[c]; ok {
		return i
	}
	return ps.table[codeInternal]
}

// encodeJSON encodes a value that has a JSON form, without HTML escapes.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(`{"type":"/problems/internal","title":"Internal error","status":500,"code":"internal"}` + "\n")
	}
	return b.Bytes()
}

// invalid is the problem of a request with one fault.
func invalid(e fieldError) *Problem {
	return &Problem{Code: codeInvalidRequest, Detail: sentence(e), Errors: []fieldError{e}}
}

func atPointer(pointer, detail string) fieldError {
	return fieldError{Pointer: &pointer, Detail: detail}
}

func atParameter(name, detail string) fieldError {
	return fieldError{Parameter: &name, Detail: detail}
}

func atHeader(name, detail string) fieldError {
	return fieldError{Header: &name, Detail: detail}
}

// sentence is a fault as one sentence.
func sentence(e fieldError) string {
	switch {
	case e.Header != nil:
		return "The header " + *e.Header + " " + e.Detail + "."
	case e.Parameter != nil:
		return "The parameter " + *e.Parameter + " " + e.Detail + "."
	case e.Pointer != nil && *e.Pointer != "":
		return *e.Pointer + " " + e.Detail + "."
	}
	return "The body " + e.Detail + "."
}

// fieldError is one fault of a request with its place.
type fieldError = oapi.FieldError
