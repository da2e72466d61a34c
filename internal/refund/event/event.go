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

// maxText bounds, in bytes, what a channel has said. The store keeps no more of
// it either; an event never grows with it.
const maxText = 200

// Errors of Of. A row that gives one cannot be told, by any later try either.
var (
	ErrRow      = errors.New("event: the journal row cannot be told")
	ErrTooLarge = errors.New("event: larger than an event may be")
)

// Row is a journal row with what an event needs beside it.
type Row struct {
	Installation string        // uuid in 36 lower-case characters
	Tenant       string        // tenant code
	Params       refund.Params // immutable
	Seq          int
	Kind         string
	From, To     refund.State // From "" = birth
	Source       string
	At           time.Time
	Data         string   // canonical JSON as stored
	Hash         [32]byte // of the row, in the chain
	ReplayBatch  refund.RID
	// CaseBefore is what the newest earlier row that tells of cases gave (see Cases); nil at birth.
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

// rowData is what an event takes of a journal row's data.
type rowData struct {
	Rule            *string  `json:"rule"`
	ChannelRefundID string   `json:"channelRefundId"`
	Code            string   `json:"code"`
	Case            []string `json:"case"`
}

// Cases gives the reasons of the open case after a row with this data, empty
// for none. tells is false for rows that say nothing of cases, births and
// claims: the case is then as it was before. Error: ErrRow.
func Cases(data string) (reasons []string, tells bool, err error) {
	d, err := read(data)
	return d.Case, d.Rule != nil, err
}

func read(data string) (d rowData, err error) {
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		return rowData{}, fmt.Errorf("%w: its data is not readable", ErrRow)
	}
	return d, nil
}

// Of gives the events of a row: none, one, or two when the row changes the
// state and opens or closes a case; the state's event comes first. The same row
// gives the same bytes every time. Errors: ErrRow, ErrTooLarge.
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

// ID is the identity of an event: tenant code, refundId, seq and the first 12
// hex digits of the journal row's hash; an event about a case ends in "/c".
// The hash tells apart what was written before and after a restore.
func ID(tenant, refundID string, seq int, hash [32]byte, aboutCase bool) string {
	id := tenant + "/" + refundID + "/" + strconv.Itoa(seq) + "-" + hex.EncodeToString(hash[:6])
	if aboutCase {
		id += "/c"
	}
	return id
}

// WebhookID is the webhook-id header of an event: "wh_" and the first 32
// digits of the event id's SHA-256 in base32 (RFC 4648, lower case). It has no
// character that Standard Webhooks gives a meaning to.
func WebhookID(eventID string) string {
	sum := sha256.Sum256([]byte(eventID))
	return "wh_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:32])
}

// Source is the CloudEvents source of all events of an installation.
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

// stamp writes a time in UTC with the microseconds that are stored.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// clip cuts a text to maxText bytes at the end of a character.
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
