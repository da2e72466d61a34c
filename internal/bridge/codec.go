package bridge

import (
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/refundry/refundry/api/strictjson"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
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
// Otherwise the event is in binary mode: attributes are in lower case and without the
// prefix of their transport, and body is the data.
//
// The intake has source, id, type, time, replay batch (extension "replaybatchid") and
// content. The caller sets tenant, consumer, actor, transport, parking position and RID,
// and compares tenantCode, the extension "tenantid" ("" = absent). Errors: *Undecodable;
// the intake then has the parts of the identity that could be read, and no content.
func (c Codec) Decode(attributes map[string]string, body []byte) (in intake.Intake, tenantCode string, err error) {
	var e event.Event
	var data []byte
	if attributes == nil {
		e, attributes, data, err = structured(body)
	} else {
		e, err = binary(attributes)
		data = body
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
		return in, attributes["tenantid"], err
	}
	in.OccurredAt, in.ReplayBatch = e.Time(), replayBatch(attributes[replayAttribute])
	now := time.Now
	if c.Clock != nil {
		now = c.Clock
	}
	err = content(&in, data, now())
	return in, attributes["tenantid"], err
}

// maxTypeBytes bounds the type of an event that is stored.
const maxTypeBytes = 128

// structured decodes the JSON format. The SDK validates the attributes. Source, id and
// data are used exactly as they were written, because they are identity and content.
func structured(body []byte) (event.Event, map[string]string, []byte, error) {
	members, fault := strictjson.Members(body)
	if fault != nil {
		return event.Event{}, looseIdentity(body), nil, undecodable(fault.Pointer, fault.Detail)
	}
	attributes := map[string]string{}
	var data []byte
	for _, m := range members {
		switch m.Name {
		case "data":
			data = m.Raw
		case "data_base64":
			return event.Event{}, attributes, nil, undecodable("/data_base64", "is not read, send data as JSON")
		default:
			if text, ok := strictjson.Text(m.Raw); ok {
				attributes[m.Name] = text
			}
		}
	}
	if err := checkRequired(attributes); err != nil {
		return event.Event{}, attributes, nil, err
	}
	var e event.Event
	if err := e.UnmarshalJSON(body); err != nil {
		return event.Event{}, attributes, nil, undecodable("", "is not a CloudEvent 1.0 in the JSON format")
	}
	if data == nil {
		return event.Event{}, attributes, nil, undecodable("/data", "is required")
	}
	return e, attributes, data, validate(e)
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

// binary decodes the attributes of binary mode.
func binary(attributes map[string]string) (event.Event, error) {
	if err := checkRequired(attributes); err != nil {
		return event.Event{}, err
	}
	e := event.New(event.CloudEventsVersionV1)
	for name, value := range attributes {
		switch name {
		case "specversion":
		case "id":
			e.SetID(value)
		case "source":
			e.SetSource(value)
		case "type":
			e.SetType(value)
		case "subject":
			e.SetSubject(value)
		case "dataschema":
			e.SetDataSchema(value)
		case "datacontenttype":
			e.SetDataContentType(value)
		case "time":
			if err := e.Context.SetTime(parseTime(value)); err != nil || parseTime(value).IsZero() {
				return e, undecodable("/time", "must be a time of RFC 3339")
			}
		default:
			if err := e.Context.SetExtension(name, value); err != nil {
				return e, undecodable("", "has an extension attribute that CloudEvents does not allow")
			}
		}
	}
	return e, validate(e)
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
	media, _, _ := strings.Cut(attributes["datacontenttype"], ";")
	if media = strings.ToLower(strings.TrimSpace(media)); media != "" && media != "application/json" {
		return undecodable("/datacontenttype", "must be application/json")
	}
	return nil
}

// validate validates the attributes with the SDK.
func validate(e event.Event) error {
	if err := e.Validate(); err != nil {
		return undecodable("", "has an attribute that CloudEvents 1.0 does not allow")
	}
	return nil
}

// parseTime reads RFC 3339; zero = the text is no time.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}
