package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/refundry/refundry/internal/refund"
)

// Notices is what the notice endpoint needs: who reads a channel's notices, and
// where they are kept. Errors of ReceiveNotice: refund.ErrBusy, ErrUnavailable.
type Notices interface {
	// Notifier is the account's reader; false = no such account, or its channel sends none.
	Notifier(account string) (refund.Notifier, bool)
	// ReceiveNotice returns once the notice is committed.
	ReceiveNotice(ctx context.Context, account string, n refund.KeptNotice) (refund.NoticeOutcome, error)
}

const (
	noticePath = "/v1/channels/{account}/notices"
	// maxKeptHeaders and longestHeader bound what is kept of a notice's headers.
	maxKeptHeaders = 40
	maxKeptHeader  = 1 << 10
)

// noticeForged is the outcome of a notice of which nothing is kept; the others are refund.NoticeOutcome's.
const noticeForged = "forged"

// secretHeaders are never kept. A notice's own signature is not one: it is evidence.
var secretHeaders = map[string]bool{"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "X-Api-Key": true}

// receiveNotice takes a channel's notice. It needs no key: the signature over the
// raw bytes is checked before anything is read or written. The channel gets its own
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
	unreadable := errors.Is(err, refund.ErrNoticeUnreadable)
	switch {
	case unreadable:
		s.problems.log.ErrorContext(r.Context(), "a signed notice cannot be read; it is kept", "account", account, "requestId", requestID(r.Context()), "error", err.Error())
		notices = []refund.Notice{{Digest: unreadableDigest(body), Status: refund.Unknown}}
	case err != nil:
		s.noticeSeen(account, noticeForged)
		s.problems.log.WarnContext(r.Context(), "a notice was refused", "account", account, "requestId", requestID(r.Context()), "error", err.Error())
		s.problems.write(w, r, &Problem{Code: codeUnauthorized, Detail: "The signature or the time of the notice is not valid."})
		return
	}
	for _, n := range notices {
		outcome, err := s.notices.ReceiveNotice(r.Context(), account, refund.KeptNotice{Notice: n, Headers: keptHeaders(r.Header), Body: body})
		if err != nil {
			s.problems.log.WarnContext(r.Context(), "a notice could not be stored; the channel has to repeat it", "account", account,
				"requestId", requestID(r.Context()), "error", err.Error())
			w.Header().Set("Retry-After", "1")
			s.acknowledge(w, reader, false)
			return
		}
		if unreadable && outcome == refund.NoticeKept {
			outcome = refund.NoticeUnusable
		}
		s.noticeSeen(account, string(outcome))
		s.problems.log.DebugContext(r.Context(), "notice", "account", account, "number", n.Number, "status", string(n.Status), "outcome", string(outcome))
	}
	s.acknowledge(w, reader, true)
}

// acknowledge answers in the channel's own form. Whatever a client's form is, what is
// not stored is never answered with a 2xx.
func (s *service) acknowledge(w http.ResponseWriter, reader refund.Notifier, stored bool) {
	status, contentType, body := reader.AckNotice(stored)
	if !stored && status < 500 {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // the client's own fixed words, nothing of the request; a channel that went away repeats
}

// unreadableDigest names bytes that nobody could read.
func unreadableDigest(body []byte) [32]byte {
	h := sha256.New()
	h.Write([]byte("refundry/notice/unreadable"))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(body))))
	h.Write(body)
	return [32]byte(h.Sum(nil))
}

// keptHeaders is what is stored beside a notice's bytes.
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
