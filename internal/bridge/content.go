package bridge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/refundry/refundry/api/strictjson"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// Bounds of the contract (api/openapi.yaml) for what has no type of its own.
const (
	maxReason       = 500
	maxMetadata     = 50
	maxMetadataName = 64
	maxMetadataText = 512
	maxReference    = 255
)

// content reads the data of an event into the intake, by its type.
func content(in *intake.Intake, data []byte, now time.Time) error {
	r := open(data, "/data")
	switch in.Type {
	case intake.TypeRefundRequested:
		in.Refund = request(r, now)
	case intake.TypePaymentCaptured:
		in.Capture = capture(r, now)
	default:
		return undecodable("/type", "is not a type that is taken here")
	}
	if err := r.close(); err != nil {
		in.Refund, in.Capture = nil, nil
		return err
	}
	return nil
}

func request(r *reader, now time.Time) *intake.Request {
	out := &intake.Request{Params: refund.Params{
		RefundID: r.id("refundId"), OrderID: r.id("orderId"), PaymentID: r.id("paymentId"), Amount: r.amount("amount"), Currency: r.currency("currency"),
	}}
	if r.has("reason") {
		out.Reason = r.text("reason", maxReason)
	}
	if r.has("metadata") {
		out.Metadata = r.metadata("metadata")
	}
	if r.has("payment") {
		p := r.object("payment")
		out.Payment = &intake.PaymentSpec{OrderID: p.id("orderId"), Amount: p.amount("amount"), Currency: p.currency("currency"),
			Account: p.id("channelAccount"), Reference: p.reference("channelReference"),
			Version: p.count("version"), RefundedElsewhere: p.count("refundedElsewhere"), PaidAt: p.paidAt("paidAt", now)}
		r.keep(p.close())
	}
	return out
}

func capture(r *reader, now time.Time) *intake.Capture {
	return &intake.Capture{PaymentID: r.id("paymentId"), CaptureID: r.id("captureId"), OrderID: r.id("orderId"), Amount: r.amount("amount"),
		Currency: r.currency("currency"), Account: r.id("channelAccount"), Reference: r.reference("channelReference"), PaidAt: r.paidAt("paidAt", now)}
}

// reader takes the members of one object by their exact names and remembers the
// first thing that is wrong. What nobody has taken at the end is wrong too.
type reader struct {
	at      string
	members map[string][]byte
	err     error
}

func open(data []byte, at string) *reader {
	r := &reader{at: at, members: map[string][]byte{}}
	members, fault := strictjson.Members(data)
	if fault != nil {
		r.err = undecodable(at+fault.Pointer, fault.Detail)
		return r
	}
	for _, m := range members {
		r.members[m.Name] = m.Raw
	}
	return r
}

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) wrong(name, detail string) {
	r.keep(undecodable(r.at+"/"+strictjson.Escape(name), detail))
}

func (r *reader) has(name string) bool { _, ok := r.members[name]; return ok }

// take gives a member once; one that is not there is wrong.
func (r *reader) take(name string) ([]byte, bool) {
	raw, ok := r.members[name]
	if !ok {
		r.wrong(name, "is required")
		return nil, false
	}
	delete(r.members, name)
	return raw, true
}

// close tells the first thing that was wrong.
func (r *reader) close() error {
	if r.err != nil {
		return r.err
	}
	if len(r.members) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(r.members)))
	if len(name) > maxMetadataName {
		name = "…" // names from outside are told again only when they are short
	}
	return undecodable(r.at+"/"+strictjson.Escape(name), "is not a known member")
}

func (r *reader) plain(name string) (string, bool) {
	raw, ok := r.take(name)
	if !ok {
		return "", false
	}
	text, ok := strictjson.Text(raw)
	if !ok {
		r.wrong(name, "must be of type string")
	}
	return text, ok
}

func (r *reader) id(name string) string {
	text, ok := r.plain(name)
	if ok && !refund.ValidID(text) {
		r.wrong(name, "must match ^[A-Za-z0-9._:~@=+-]{1,64}$")
	}
	return text
}

func (r *reader) currency(name string) refund.Currency {
	text, ok := r.plain(name)
	if !ok {
		return ""
	}
	c, err := refund.ParseCurrency(text)
	if err != nil {
		r.wrong(name, "must be an ISO 4217 currency")
	}
	return c
}

func (r *reader) integer(name string, least int64) int64 {
	raw, ok := r.take(name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	switch {
	case err != nil && (raw[0] != '-' && (raw[0] < '0' || raw[0] > '9')):
		r.wrong(name, "must be of type integer")
	case err != nil || n < least || n > refund.MaxAmount:
		r.wrong(name, fmt.Sprintf("must be from %d to %d", least, int64(refund.MaxAmount)))
	}
	return n
}

func (r *reader) amount(name string) int64 { return r.integer(name, 1) }

// count is an integer that may be left out and then is 0.
func (r *reader) count(name string) int64 {
	if !r.has(name) {
		return 0
	}
	return r.integer(name, 0)
}

func (r *reader) text(name string, most int) string {
	text, ok := r.plain(name)
	if n := utf8.RuneCountInString(text); ok && (n == 0 || n > most) {
		r.wrong(name, fmt.Sprintf("must have 1 to %d characters", most))
	}
	return text
}

// reference is the channel's name of a payment and may be left out.
func (r *reader) reference(name string) string {
	if !r.has(name) {
		return ""
	}
	text, ok := r.plain(name)
	if !ok {
		return ""
	}
	fits := len(text) >= 1 && len(text) <= maxReference
	for i := range len(text) {
		fits = fits && text[i] >= 0x21 && text[i] <= 0x7e
	}
	if !fits {
		r.wrong(name, "must be 1 to 255 visible ASCII characters")
	}
	return text
}

// paidAt is when a payment was paid and may be left out.
func (r *reader) paidAt(name string, now time.Time) time.Time {
	if !r.has(name) {
		return time.Time{}
	}
	text, ok := r.plain(name)
	if !ok {
		return time.Time{}
	}
	t := parseTime(text)
	switch {
	case t.IsZero():
		r.wrong(name, "must be a time of RFC 3339")
	case !refund.ValidPaidAt(t, now):
		r.wrong(name, "must not be before 2000 or in the future")
	}
	return refund.NormalPaidAt(t)
}

func (r *reader) object(name string) *reader {
	raw, _ := r.take(name)
	return open(raw, r.at+"/"+name)
}

func (r *reader) metadata(name string) map[string]string {
	m := r.object(name)
	r.keep(m.err)
	if len(m.members) > maxMetadata {
		r.wrong(name, fmt.Sprintf("must have at most %d members", maxMetadata))
	}
	out := map[string]string{}
	for key, raw := range m.members {
		text, ok := strictjson.Text(raw)
		switch n := utf8.RuneCountInString(key); {
		case n == 0 || n > maxMetadataName:
			r.wrong(name, fmt.Sprintf("must have names of 1 to %d characters", maxMetadataName))
		case !ok:
			m.wrong(key, "must be of type string")
		case utf8.RuneCountInString(text) > maxMetadataText:
			m.wrong(key, fmt.Sprintf("must have at most %d characters", maxMetadataText))
		}
		out[key] = text
	}
	r.keep(m.err)
	return out
}

// parseTime reads RFC 3339; zero = not one.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}
