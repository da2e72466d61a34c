package bridge

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/refundry/refundry/api/strictjson"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/refund/wire"
)

// Codec decodes CloudEvents 1.0 with JSON data. Types: refund.requested, whose data is
// the body of POST /v1/refunds, and payment.captured.
type Codec struct {
	Clock func() time.Time // for times that must have passed; nil = time.Now
}

// Undecodable is the fault of a message that is not a known event, with its place. It
// never quotes the message.
type Undecodable struct {
	pointer, detail string
}

// Error implements error.
func (u *Undecodable) Error() string {
	return "bridge: undecodable event: " + strings.TrimSpace(u.pointer+" "+u.detail)
}

// Pointer is the place of the fault as JSON Pointer into the event in its JSON format, in
// binary mode too: attributes are members, the body is /data.
func (u *Undecodable) Pointer() string { return u.pointer }

// Detail is a clause that follows the name of the place.
func (u *Undecodable) Detail() string { return u.detail }

func undecodable(pointer, detail string) error { return &Undecodable{pointer, detail} }

// Decode decodes one event. attributes nil = body is the whole event in the JSON format.
// Otherwise the event is in binary mode: attributes are the values of the headers as they
// came, by their names in lower case and without the prefix of their transport, and body
// is the data. The attribute datacontenttype is the header Content-Type.
//
// The intake has source, id, type, time, replay batch (extension "replaybatchid") and
// content. The caller sets tenant, consumer, actor, transport, parking position and RID,
// and compares tenantCode, the extension "tenantid" ("" = absent). Errors: *Undecodable;
// the intake then has the parts of the identity that could be read, and no content.
func (c Codec) Decode(attributes map[string]string, body []byte) (in intake.Intake, tenantCode string, err error) {
	data := body
	if attributes == nil {
		attributes, data, err = structured(body)
	} else {
		attributes = decodeAttributes(attributes)
	}
	if err == nil {
		in.OccurredAt, err = checkAttributes(attributes)
	}
	in.Event.Source, in.Event.ID, in.Type = attributes["source"], attributes["id"], intake.EventType(attributes["type"])
	if idErr := refund.ValidEventID(in.Event.Source, in.Event.ID); idErr != nil {
		in.Event = intake.EventID{}
		if err == nil {
			err = undecodable("/id", "must not be empty, and source and id together not exceed 1024 bytes of text without control characters")
		}
	}
	if len(in.Type) > maxTypeBytes {
		in.Type = ""
	}
	if err != nil {
		in.OccurredAt = time.Time{}
		return in, attributes["tenantid"], err
	}
	in.ReplayBatch = replayBatch(attributes[replayAttribute])
	now := time.Now
	if c.Clock != nil {
		now = c.Clock
	}
	err = content(&in, data, now())
	return in, attributes["tenantid"], err
}

// maxTypeBytes bounds the type of an event that is stored.
const maxTypeBytes = 128

// structured reads the JSON format: the attributes as text, and the data. Source, id and data are used exactly as they were written,
// because they are identity and content. A member with the value null is absent.
func structured(body []byte) (attributes map[string]string, data []byte, err error) {
	members, fault := strictjson.Members(body)
	if fault != nil {
		return looseIdentity(body), nil, undecodable(fault.Pointer, fault.Detail)
	}
	attributes = map[string]string{}
	var encoded []byte
	readable := true
	for _, m := range members {
		switch text, isText := strictjson.Text(m.Raw); {
		case m.Name == "data":
			data = m.Raw
		case string(m.Raw) == "null":
		case m.Name == "data_base64":
			encoded = m.Raw
		case isText:
			attributes[m.Name] = text
		default:
			readable = readable && mayBeScalar(m)
		}
	}
	if err := checkRequired(attributes); err != nil {
		return attributes, nil, err
	}
	switch {
	case !readable:
		return attributes, nil, undecodable("", "is not a CloudEvent 1.0 in the JSON format")
	case encoded != nil && data != nil:
		return attributes, nil, undecodable("/data_base64", "must not come together with data")
	case encoded != nil:
		data, err = decodeBase64(encoded)
		return attributes, data, err
	case data == nil:
		return attributes, nil, undecodable("/data", "is required")
	}
	if media, _, _ := wire.MediaType(attributes[contentType]); strings.HasSuffix(media, "+json") {
		// The SDK of Go writes such a document as a text. No type of event has a text as data.
		if text, isText := strictjson.Text(data); isText {
			data = []byte(text)
		}
	}
	return attributes, data, nil
}

// mayBeScalar reports whether a member that is no text may be an attribute: an extension may be a boolean or an integer of 32 bits
// (CloudEvents 1.0.2, section 3.1), the other attributes are texts.
func mayBeScalar(m strictjson.Member) bool {
	switch m.Name {
	case "specversion", "id", "source", "type", "subject", "time", "dataschema", "datacontenttype":
		return false
	}
	if !event.IsExtensionNameValid(m.Name) {
		return false
	}
	if raw := string(m.Raw); raw == "true" || raw == "false" {
		return true
	}
	_, err := strconv.ParseInt(string(m.Raw), 10, 32)
	return err == nil
}

// decodeBase64 reads the data of a producer that has bytes instead of JSON (CloudEvents 1.0.2, JSON format, section 3.1.1).
func decodeBase64(raw []byte) ([]byte, error) {
	text, ok := strictjson.Text(raw)
	data, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil, undecodable("/data_base64", "must be Base64 of RFC 4648")
	}
	return data, nil
}

// looseIdentity reads the identity of a document that is refused, as far as possible.
func looseIdentity(body []byte) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"source", "id", "type", "tenantid"} {
		if text, ok := strictjson.Lookup(body, name); ok {
			out[name] = text
		}
	}
	return out
}

// checkAttributes checks the attributes of an event in either mode and returns its time, zero = it has none.
func checkAttributes(attributes map[string]string) (occurredAt time.Time, err error) {
	if err := checkRequired(attributes); err != nil {
		return occurredAt, err
	}
	e := event.New(event.CloudEventsVersionV1)
	for name, value := range attributes {
		switch name {
		case "specversion", contentType: // checked by checkRequired
		case "dataschema": // not used; a schema of any form is taken
		case "id":
			e.SetID(value)
		case "source":
			e.SetSource(value)
		case "type":
			e.SetType(value)
		case "subject":
			e.SetSubject(value)
		case "time":
			var ok bool
			if occurredAt, ok = parseTime(value); !ok {
				return occurredAt, undecodable("/time", "must be a time of RFC 3339")
			}
		default:
			if err := e.Context.SetExtension(name, value); err != nil {
				return occurredAt, undecodable("", "has an extension attribute that CloudEvents does not allow")
			}
		}
	}
	if err := e.Validate(); err != nil {
		return occurredAt, undecodable("", "has an attribute that CloudEvents 1.0 does not allow")
	}
	return occurredAt, nil
}

// checkRequired checks the required attributes, the version, and that the data is JSON.
func checkRequired(attributes map[string]string) error {
	for _, name := range []string{"specversion", "id", "source", "type"} {
		if attributes[name] == "" {
			return undecodable("/"+name, "is required")
		}
	}
	if attributes["specversion"] != event.CloudEventsVersionV1 {
		return undecodable("/specversion", "must be 1.0")
	}
	value := attributes[contentType]
	if media, _, ok := wire.MediaType(value); value != "" && (!ok || !wire.IsJSON(media)) {
		return undecodable("/datacontenttype", "must be a media type of JSON")
	}
	return nil
}

// parseTime reads a time of RFC 3339, zero for an empty text. What time.Parse takes beyond RFC 3339 is taken, too: stored messages may
// have it.
func parseTime(s string) (t time.Time, ok bool) {
	if s == "" {
		return t, true
	}
	if t, ok = wire.Time(s); ok {
		return t, true
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, err == nil
}
