package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/refundry/refundry/api/strictjson"
	"github.com/refundry/refundry/internal/refund/wire"
)

const (
	// mediaEvents is what the media types of CloudEvents' structured mode and of batches begin with.
	mediaEvents = "application/cloudevents"
	// mediaEvent is the media type of one event in structured mode, mediaEventBatch that of several events in one body.
	mediaEvent      = "application/cloudevents+json"
	mediaEventBatch = "application/cloudevents-batch+json"
)

// eventRequest is a request of events as the middleware has read it.
type eventRequest struct {
	events  []rawEvent
	silent  bool    // the sender wants no verdicts
	applied *string // Preference-Applied; nil = no preference decided that
}

// rawEvent is one undecoded event.
type rawEvent struct {
	attributes map[string]string   // of binary mode, encoded, without "ce-"; nil = the body is the whole event
	headers    map[string][]string // as they are parked
	body       []byte
	fault      *fieldError // set = the event cannot be decoded
}

// preparedEvents reads the events of a request. Errors: *Problem of readBody and split.
func (s *service) preparedEvents(w http.ResponseWriter, r *http.Request) error {
	if err := uncompressed(r.Header); err != nil {
		return err
	}
	body, err := readBody(w, r, s.limits.Events)
	if err != nil {
		return err
	}
	req := eventRequest{}
	if req.events, err = s.split(r.Header, body); err != nil {
		return err
	}
	binary := len(req.events) == 1 && req.events[0].attributes != nil
	req.silent, req.applied = silentAnswer(r.Header, binary)
	r.Header.Del("Content-Type") // the generated code must not decode the body
	r.Body, r.ContentLength = http.NoBody, 0
	*r = *r.WithContext(context.WithValue(r.Context(), keyEvents, req))
	return nil
}

// split returns the events of a body in their order, undecoded. A body that should have events and cannot be read is one event with a fault,
// because a sender that pushes events cannot repair it. Errors: *Problem body-too-large for a batch above the
// limit; unsupported-media-type or invalid-request if nothing says that the request has events.
func (s *service) split(h http.Header, body []byte) ([]rawEvent, error) {
	contentType := strings.Join(h.Values("Content-Type"), ", ")
	media, _, _ := wire.MediaType(contentType)
	if len(h.Values("Content-Type")) > 1 {
		media = ""
	}
	switch {
	case media == mediaEvent:
		return []rawEvent{{headers: map[string][]string{}, body: body}}, nil
	case media == mediaEventBatch:
		return s.splitBatch(body)
	case strings.HasPrefix(media, mediaEvents):
		e := atHeader("Content-Type", "must be "+mediaEvent+" or "+mediaEventBatch)
		return []rawEvent{{headers: map[string][]string{"content-type": {contentType}}, body: body, fault: &e}}, nil
	}
	if ev, found := binaryEvent(h, contentType, body); found {
		return []rawEvent{ev}, nil
	}
	if wire.IsJSON(media) {
		return nil, invalid(atHeader("ce-specversion", "is required with "+media))
	}
	return nil, &Problem{Code: codeUnsupportedMedia, Detail: "Send " + mediaEvent + ", " + mediaEventBatch + ", or an event in binary mode with its ce- headers."}
}

func (s *service) splitBatch(body []byte) ([]rawEvent, error) {
	parts, wrong := strictjson.Elements(body)
	switch {
	case wrong != nil:
		e := atPointer(wrong.Pointer, wrong.Detail)
		return []rawEvent{{headers: map[string][]string{"content-type": {mediaEventBatch}}, body: body, fault: &e}}, nil //nolint:nilerr // the fault is the event's
	case len(parts) > s.limits.Batch:
		return nil, &Problem{Code: codeTooLarge, Detail: fmt.Sprintf("A batch may have at most %d events.", s.limits.Batch)}
	}
	out := make([]rawEvent, len(parts))
	for i, p := range parts {
		out[i] = rawEvent{headers: map[string][]string{}, body: p}
	}
	return out, nil
}

// binaryEvent reads an event in binary mode. The values of its attributes stay encoded as they came. found = there is a header
// of an attribute.
func binaryEvent(h http.Header, contentType string, body []byte) (ev rawEvent, found bool) {
	ev = rawEvent{attributes: map[string]string{}, headers: map[string][]string{}, body: body}
	for name, values := range h {
		name = strings.ToLower(name)
		attribute, isAttribute := strings.CutPrefix(name, "ce-")
		if !isAttribute || attribute == "" {
			continue
		}
		found = true
		ev.headers[name], ev.attributes[attribute] = values, values[0]
		if len(values) > 1 && (ev.fault == nil || clip(name) < *ev.fault.Header) {
			e := atHeader(clip(name), "must be sent once")
			ev.fault = &e
		}
	}
	if contentType != "" {
		ev.headers["content-type"], ev.attributes["datacontenttype"] = []string{contentType}, contentType
	}
	return ev, found
}

// silentAnswer reports whether the answer to events has no body, and the preference that decided that. Senders of events may take the
// body of an answer for an event in reply, and an answer of another type for a failure: without a preference, a body is sent
// only to those who accept JSON, and in binary mode only to those who name it.
func silentAnswer(h http.Header, binary bool) (silent bool, applied *string) {
	if preferred, asked := preferredReturn(strings.Join(h.Values("Prefer"), ",")); asked {
		text := "return=" + preferred
		return preferred == "minimal", &text
	}
	return !acceptsJSON(strings.Join(h.Values("Accept"), ","), !binary), nil
}

// acceptsJSON reports whether an Accept header admits application/json (RFC 9110 section 12.5.1). ranges = also by */* or application/*.
// An empty or missing header admits nothing.
func acceptsJSON(accept string, ranges bool) bool {
	best, admitted := -1, false
	for part := range strings.SplitSeq(accept, ",") {
		media, parameters, _ := strings.Cut(part, ";")
		precision := -1
		switch strings.ToLower(strings.TrimSpace(media)) {
		case mediaJSON:
			precision = 2
		case "application/*":
			precision = 1
		case "*/*":
			precision = 0
		}
		if precision > best && (ranges || precision == 2) {
			best, admitted = precision, !zeroWeight(parameters)
		}
	}
	return admitted
}

// zeroWeight reports whether the parameters of a media range have a weight of zero.
func zeroWeight(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			return strings.Trim(strings.TrimSpace(value), "0.") == ""
		}
	}
	return false
}
