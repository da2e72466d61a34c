package event

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/refundry/refundry/internal/refund"
)

// MaxBytes bounds the body of an event.
const MaxBytes = 4096

// maxText bounds, in bytes, a text of the channel. The store has the same bound.
const maxText = 200

// Errors of Of. They are permanent: a row that gives one has no event.
var (
	ErrRow      = errors.New("event: the journal row is unusable")
	ErrTooLarge = errors.New("event: larger than an event may be")
)

// Row is a journal row with the other data of its event.
type Row struct {
	Installation string        // uuid in 36 lower-case characters
	Tenant       string        // tenant code
	Params       refund.Params // immutable
	Seq          int
	Kind         string
	From, To     refund.State // From "" = first row
	Source       string
	At           time.Time
	Data         string   // canonical JSON as stored
	Hash         [32]byte // of the row, in the chain
	ReplayBatch  refund.RID
	// CaseBefore is the result of Cases for the newest earlier row that mentions cases; nil for the first row.
	CaseBefore []string
}

// Event is one public event.
type Event struct {
	ID     string
	Type   Type
	Tenant string // tenant code
	Key    string // ordering key: events of one refund have one key
	At     time.Time
	Body   []byte // CloudEvents 1.0 in the JSON format
}

// ContentType is the media type of Event.Body.
const ContentType = "application/cloudevents+json"

// rowData is the part of a journal row's data that events use.
type rowData struct {
	Rule            *string  `json:"rule"`
	ChannelRefundID string   `json:"channelRefundId"`
	Code            string   `json:"code"`
	Case            []string `json:"case"`
}

// Cases returns the reasons of the open case after a row with this data, empty for none. mentioned is false for rows that do not
// mention cases (first rows, claims): the case is unchanged by them. Errors: ErrRow.
func Cases(data string) (reasons []string, mentioned bool, err error) {
	d, err := read(data)
	return d.Case, d.Rule != nil, err
}

func read(data string) (d rowData, err error) {
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		return rowData{}, fmt.Errorf("%w: its data is not readable", ErrRow)
	}
	return d, nil
}

// Of returns the events of a row: none, one, or two when the row changes the state and opens or closes a case; the state's
// event comes first. The same row gives the same bytes every time. Errors: ErrRow, ErrTooLarge.
func Of(r Row) ([]Event, error) {
	state, known := stateType(r)
	if !known {
		return nil, fmt.Errorf("%w: state %q", ErrRow, r.To)
	}
	d, err := read(r.Data)
	if err != nil {
		return nil, err
	}
	after := d.Case
	if d.Rule == nil {
		after = r.CaseBefore
	}
	var out []Event
	for _, t := range []Type{state, caseType(r.CaseBefore, after)} {
		if t == "" {
			continue
		}
		e, err := encode(r, d, t, after)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// ID returns the identity of an event: tenant code, refundId, seq and the first 12 hex digits of the journal row's hash; the
// id of a case event ends in "/c". The hash separates rows from before and after a restore.
func ID(tenant, refundID string, seq int, hash [32]byte, aboutCase bool) string {
	id := tenant + "/" + refundID + "/" + strconv.Itoa(seq) + "-" + hex.EncodeToString(hash[:6])
	if aboutCase {
		id += "/c"
	}
	return id
}

// WebhookID returns the webhook-id header of an event: "wh_" and the first 32 digits of the event id's SHA-256 in base32
// (RFC 4648, lower case). None of its characters has a meaning in Standard Webhooks.
func WebhookID(eventID string) string {
	sum := sha256.Sum256([]byte(eventID))
	return "wh_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:32])
}

// Source returns the CloudEvents source of all events of an installation.
func Source(installation string) string { return "/refundry/" + installation }

func encode(r Row, d rowData, t Type, reasons []string) (Event, error) {
	data := map[string]any{
		"refundId": r.Params.RefundID, "paymentId": r.Params.PaymentID, "orderId": r.Params.OrderID,
		"amount": r.Params.Amount, "currency": string(r.Params.Currency),
		"seq": r.Seq, "kind": r.Kind, "state": string(r.To), "at": stamp(r.At), "source": r.Source,
	}
	optional := map[string]string{"from": string(r.From), "channelRefundId": clip(d.ChannelRefundID), "code": clip(d.Code)}
	if !r.ReplayBatch.IsZero() {
		optional["replayBatchId"] = r.ReplayBatch.String()
	}
	for name, value := range optional {
		if value != "" {
			data[name] = value
		}
	}
	if len(reasons) > 0 {
		data["caseReasons"] = reasons
	}
	e := Event{ID: ID(r.Tenant, r.Params.RefundID, r.Seq, r.Hash, t == CaseOpened || t == CaseClosed), Type: t, Tenant: r.Tenant,
		Key: r.Tenant + "/" + r.Params.RefundID, At: r.At}
	text, err := refund.CanonicalJSON(map[string]any{
		"specversion": "1.0", "id": e.ID, "source": Source(r.Installation), "type": string(t), "subject": r.Params.RefundID, "time": stamp(r.At),
		"datacontenttype": "application/json", "tenantid": r.Tenant, "partitionkey": e.Key, "data": data,
	})
	switch {
	case err != nil:
		return Event{}, fmt.Errorf("%w: %w", ErrRow, err)
	case len(text) > MaxBytes:
		return Event{}, fmt.Errorf("%w: %d bytes", ErrTooLarge, len(text))
	}
	e.Body = []byte(text)
	return e, nil
}

// stamp returns a time in UTC with the stored microseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// clip shortens a text to maxText bytes, at the end of a character.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
