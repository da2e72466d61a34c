package simulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

const (
	maxBody   = 256 << 10
	maxAmount = 1<<53 - 1
)

var (
	idPattern        = regexp.MustCompile(`^[A-Za-z0-9._:~@=+-]{1,64}$`)
	codePattern      = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)
	referencePattern = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)
	currencyPattern  = regexp.MustCompile(`^[A-Z]{3}$`)
	amountPattern    = regexp.MustCompile(`^[1-9][0-9]{0,15}$`)
	wholePattern     = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,18})$`)
)

func validID(s string) bool   { return idPattern.MatchString(s) }
func validCode(s string) bool { return codePattern.MatchString(s) }

// sendRequest is the body of POST /v1/refunds.
type sendRequest struct {
	Number           string
	RefundID         string
	Account          string
	PaymentReference string
	Amount           int64
	Currency         string
}

// refundView is a refund in the answers of the channel.
type refundView struct {
	Number           string    `json:"number"`
	RefundID         string    `json:"refundId"`
	ChannelRefundID  string    `json:"channelRefundId"`
	PaymentReference string    `json:"paymentReference"`
	Status           string    `json:"status"`
	Amount           int64     `json:"amount"`
	Currency         string    `json:"currency"`
	CreatedAt        time.Time `json:"createdAt"`

	Voucher map[string]string `json:"voucher,omitempty"` // once the money has moved
}

func (r *refund) view(now time.Time, p profile) refundView {
	v := refundView{
		Number: r.number, RefundID: r.refundID, ChannelRefundID: r.ID, PaymentReference: r.PaymentReference,
		Status: r.reported(now, p), Amount: r.Amount, Currency: r.Currency, CreatedAt: r.at,
	}
	if r.moved(now) {
		v.Voucher = r.voucher()
	}
	return v
}

// voucher returns the reference by which the payer's bank finds the refund: 23 digits that are always the same for a
// refund.
func (r *refund) voucher() map[string]string {
	sum := sha256.Sum256([]byte(r.ID))
	digits := make([]byte, 23)
	for i := range digits {
		digits[i] = '0' + sum[i]%10
	}
	return map[string]string{"arn": string(digits)}
}

type listView struct {
	Refunds  []refundView `json:"refunds"`
	Complete bool         `json:"complete"`
	Next     string       `json:"next,omitempty"`
}

// effectView is one movement of money in GET /effects.
type effectView struct {
	Number           string    `json:"number"`
	RefundID         string    `json:"refundId"`
	Account          string    `json:"account"`
	PaymentReference string    `json:"paymentReference"`
	Amount           int64     `json:"amount"`
	Currency         string    `json:"currency"`
	Status           string    `json:"status"`
	Requests         int       `json:"requests"`
	At               time.Time `json:"at"`
}

// refusal is an error answer of the channel.
type refusal struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *refusal) Error() string { return e.Code + ": " + e.Message }

func invalid(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "invalid_request", fmt.Sprintf(format, args...)}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"code":"internal_error","message":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may have gone
}

func writeRefusal(w http.ResponseWriter, err error) {
	var e *refusal
	if !errors.As(err, &e) {
		e = &refusal{http.StatusServiceUnavailable, "unavailable", "the channel's record is not available"}
	}
	if e.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if e.status == http.StatusMethodNotAllowed && w.Header().Get("Allow") == "" {
		w.Header().Set("Allow", "") // the account has no method here
	}
	writeJSON(w, e.status, e)
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, &refusal{http.StatusRequestEntityTooLarge, "body_too_large", "the body is larger than 256 KiB"}
	}
	if err != nil {
		return nil, invalid("the body ends early")
	}
	return body, nil
}

func parseSend(body []byte) (sendRequest, error) {
	o, err := parseObject(body)
	if err != nil {
		return sendRequest{}, err
	}
	q := sendRequest{
		Number:           o.text("number", idPattern, true),
		RefundID:         o.text("refundId", idPattern, true),
		Account:          o.text("account", idPattern, true),
		PaymentReference: o.text("paymentReference", referencePattern, true),
		Amount:           o.whole("amount", amountPattern, maxAmount, true),
		Currency:         o.text("currency", currencyPattern, true),
	}
	return q, o.end()
}

// object decodes a JSON object strictly: names as written, none twice, every one used. It keeps the first error, which end
// returns.
type object struct {
	fields map[string]json.RawMessage
	err    error
}

func parseObject(data []byte) (*object, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, invalid("the body must be one JSON object")
	}
	o := &object{fields: map[string]json.RawMessage{}}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, invalid("malformed JSON")
		}
		key, _ := name.(string) // the decoder accepts only strings as names
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, invalid("malformed JSON")
		}
		if _, twice := o.fields[key]; twice {
			return nil, invalid("field %.64q occurs twice", key)
		}
		o.fields[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, invalid("malformed JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("data after the object")
	}
	return o, nil
}

func (o *object) take(name string, required bool) (json.RawMessage, bool) {
	value, ok := o.fields[name]
	delete(o.fields, name)
	if !ok && required {
		o.fail("field %s is missing", name)
	}
	return value, ok
}

func (o *object) fail(format string, args ...any) {
	if o.err == nil {
		o.err = invalid(format, args...)
	}
}

func (o *object) text(name string, pattern *regexp.Regexp, required bool) string {
	raw, ok := o.take(name, required)
	if !ok {
		return ""
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil || pattern != nil && !pattern.MatchString(s) {
		o.fail("field %s has a wrong format", name)
		return ""
	}
	return s
}

func (o *object) whole(name string, pattern *regexp.Regexp, most int64, required bool) int64 {
	raw, ok := o.take(name, required)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || !pattern.Match(raw) || n > most {
		o.fail("field %s must be an integer within its range", name)
		return 0
	}
	return n
}

// end returns the first error, or one about a field that was not used.
func (o *object) end() error {
	for name := range o.fields {
		o.fail("field %.64q is not known", name)
	}
	if o.err != nil {
		return o.err
	}
	return nil
}
