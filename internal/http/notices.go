package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/refundry/refundry/internal/refund"
)

// Notices parses and stores the notices of channels. Errors of ReceiveNotice:
// refund.ErrBusy, ErrUnavailable; of KeepUnread too.
type Notices interface {
	// Notifier parses the notices of an account; false = no such account, or its channel sends none.
	Notifier(account string) (refund.Notifier, bool)
	// ReceiveNotice returns once the notice is committed.
	ReceiveNotice(ctx context.Context, account string, n refund.KeptNotice) (refund.NoticeOutcome, error)
	// KeepUnread returns once a notice that cannot be read is committed; open = the channel has to repeat it.
	KeepUnread(ctx context.Context, n refund.UnreadNotice) (open bool, err error)
}

const (
	noticePath = "/v1/channels/{account}/notices"
	// maxKeptHeaders and maxKeptHeader bound the stored headers of a notice: their number, and the bytes of each value.
	maxKeptHeaders = 40
	maxKeptHeader  = 1 << 10
)

// noticeForged is the outcome of a notice that is not stored. Other outcomes are those of refund.NoticeOutcome.
const noticeForged = "forged"

// secretHeaders are never stored. The signature of a notice is not among them: it is evidence.
var secretHeaders = map[string]bool{"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "X-Api-Key": true}

// receiveNotice receives a notice of a channel. It needs no key: the signature over the
// raw bytes is checked before anything is parsed or stored. The channel gets its own
// form of "received" only after COMMIT, and otherwise an answer after which it repeats.
func (s *service) receiveNotice(w http.ResponseWriter, r *http.Request) {
	account := chi.URLParam(r, "account")
	reader, ok := s.notices.Notifier(account)
	if !ok {
		s.problems.write(w, r, &Problem{Code: refund.CodeNotFound})
		return
	}
	body, err := readBody(w, r, s.limits.Notice)
	if err != nil {
		s.problems.write(w, r, err)
		return
	}
	notices, err := reader.ParseNotice(r.Header, body)
	switch {
	case errors.Is(err, refund.ErrNoticeUnreadable):
		s.keepUnread(w, r, reader, refund.UnreadNotice{Account: account, Digest: unreadableDigest(body), Headers: keptHeaders(r.Header), Body: body,
			Reason: err.Error()})
		return
	case err != nil:
		s.noticeSeen(account, noticeForged)
		s.problems.log.WarnContext(r.Context(), "notice refused", "account", account, "requestId", requestID(r.Context()), "error", err.Error())
		s.problems.write(w, r, &Problem{Code: codeUnauthorized, Detail: "The signature or the time of the notice is not valid."})
		return
	}
	for _, n := range notices {
		outcome, err := s.notices.ReceiveNotice(r.Context(), account, refund.KeptNotice{Notice: n, Headers: keptHeaders(r.Header), Body: body})
		if err != nil {
			s.notStored(w, r, reader, account, err)
			return
		}
		s.noticeSeen(account, string(outcome))
		s.problems.log.DebugContext(r.Context(), "notice", "account", account, "number", n.Number, "status", string(n.Status), "outcome", string(outcome))
	}
	s.acknowledge(w, reader, true)
}

// keepUnread stores a notice that has a valid signature and cannot be read. It is not acknowledged, so that the channel
// repeats it until a later version reads it, or an operator dismisses it.
func (s *service) keepUnread(w http.ResponseWriter, r *http.Request, reader refund.Notifier, n refund.UnreadNotice) {
	open, err := s.notices.KeepUnread(r.Context(), n)
	if err != nil {
		s.notStored(w, r, reader, n.Account, err)
		return
	}
	if open {
		s.problems.log.ErrorContext(r.Context(), "a signed notice cannot be read; it is stored and the channel is asked to repeat it",
			"account", n.Account, "digest", hex.EncodeToString(n.Digest[:]), "requestId", requestID(r.Context()), "error", n.Reason)
	}
	s.noticeSeen(n.Account, string(refund.NoticeUnread))
	s.acknowledge(w, reader, !open)
}

func (s *service) notStored(w http.ResponseWriter, r *http.Request, reader refund.Notifier, account string, err error) {
	s.problems.log.WarnContext(r.Context(), "notice not stored; the channel has to repeat it", "account", account,
		"requestId", requestID(r.Context()), "error", err.Error())
	w.Header().Set("Retry-After", "1")
	s.acknowledge(w, reader, false)
}

// acknowledge answers in the channel's own form. The status of a notice that the channel
// has to repeat is never 2xx, whatever the client of the channel returns.
func (s *service) acknowledge(w http.ResponseWriter, reader refund.Notifier, done bool) {
	status, contentType, body := reader.AckNotice(done)
	if !done && status < 500 {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // a fixed text of the client, nothing of the request; a channel that did not get it repeats
}

// unreadableDigest is the digest of a notice that could not be parsed.
func unreadableDigest(body []byte) [32]byte {
	h := sha256.New()
	h.Write([]byte("refundry/notice/unreadable"))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(body))))
	h.Write(body)
	return [32]byte(h.Sum(nil))
}

// keptHeaders are the headers that are stored with a notice.
func keptHeaders(h http.Header) map[string][]string {
	out := map[string][]string{}
	for name, values := range h {
		if secretHeaders[name] || len(out) >= maxKeptHeaders {
			continue
		}
		for _, v := range values {
			out[name] = append(out[name], strings.ToValidUTF8(v[:min(len(v), maxKeptHeader)], ""))
		}
	}
	return out
}
