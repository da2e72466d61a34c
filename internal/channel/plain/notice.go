package plain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/refund"
)

// Headers of a notice, see api/simulator.yaml.
const (
	headerTimestamp = "Plain-Timestamp"
	headerSignature = "Plain-Signature"
)

const (
	// noticeTolerance is how far the time stamp of a notice may be from the local clock. The channel stamps every try anew, so
	// an older notice is a replay.
	noticeTolerance = 5 * time.Minute
	shortestSecret  = 16
	mostSignatures  = 8
)

// ParseNotice verifies the signature and the time stamp over the received bytes before it decodes them. Errors:
// refund.ErrNoticeForged, refund.ErrNoticeUnreadable.
func (c *Client) ParseNotice(header map[string][]string, body []byte) ([]refund.Notice, error) {
	h := http.Header(header)
	stamp := h.Get(headerTimestamp)
	if !c.signed(stamp, h.Values(headerSignature), body) {
		return nil, refund.ErrNoticeForged
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if age := c.cfg.Clock().Sub(time.Unix(seconds, 0)); err != nil || age > noticeTolerance || age < -noticeTolerance {
		return nil, fmt.Errorf("%w: its time stamp is %s off", refund.ErrNoticeForged, age.Round(time.Second))
	}
	return c.ReadNotice(header, body)
}

// ReadNotice decodes a notice whose signature was checked. Errors: refund.ErrNoticeUnreadable.
func (c *Client) ReadNotice(_ map[string][]string, body []byte) ([]refund.Notice, error) {
	var w wireRefund // the refund as it stands now
	var id *string   // of the change
	if err := channel.ReadDocument(body, append(w.members(), channel.TextMember("id", &id))...); err != nil {
		return nil, fmt.Errorf("%w: %w", refund.ErrNoticeUnreadable, err)
	}
	line, rule := w.effect()
	if id == nil || *id == "" || line.Number == "" && line.ChannelRefundID == "" {
		return nil, fmt.Errorf("%w: it names no refund (%s)", refund.ErrNoticeUnreadable, rule)
	}
	code := ""
	if w.status != nil {
		code = *w.status
	}
	return []refund.Notice{{Digest: noticeDigest(body), Number: line.Number, ChannelRefundID: line.ChannelRefundID,
		Status: line.Status, Amount: line.Amount, Currency: line.Currency, Code: code, Names: w.names(c.cfg.Account)}}, nil
}

// AckNotice returns the response to a notice. The plain protocol requires a 2xx with any body.
func (c *Client) AckNotice(ok bool) (status int, contentType string, body []byte) {
	if !ok {
		return http.StatusServiceUnavailable, "text/plain", []byte("not stored, please repeat\n")
	}
	return http.StatusOK, "text/plain", []byte("ok\n")
}

// signed compares the signature with every secret in constant time, so that the time does not reveal which one matches.
func (c *Client) signed(stamp string, headers []string, body []byte) bool {
	if len(headers) != 1 || stamp == "" || len(stamp) > 20 {
		return false
	}
	given := strings.Split(headers[0], ",")
	if len(given) > mostSignatures {
		return false
	}
	fits := false
	for _, secret := range c.cfg.NoticeSecrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(stamp + "."))
		mac.Write(body)
		want := mac.Sum(nil)
		for _, one := range given {
			hexed, v1 := strings.CutPrefix(strings.TrimSpace(one), "v1=")
			got, err := hex.DecodeString(hexed)
			fits = v1 && err == nil && hmac.Equal(got, want) || fits
		}
	}
	return fits
}

// noticeDigest identifies the content without the time stamp, which differs between repeats.
func noticeDigest(body []byte) [32]byte {
	h := sha256.New()
	const domain = "refundry/plain/notice"
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(domain))))
	h.Write([]byte(domain))
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) // #nosec G115 -- a bounded body
	h.Write(body)
	return [32]byte(h.Sum(nil))
}
