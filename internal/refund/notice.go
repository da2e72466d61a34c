package refund

import (
	"errors"
)

// Errors of a notice's reading.
var (
	// ErrNoticeForged: the signature does not fit the bytes, or its time is too far away. Nothing may be kept of it.
	ErrNoticeForged = errors.New("refund: the notice's signature does not fit")
	// ErrNoticeUnreadable: the channel signed it, and we cannot read it. It is kept for people.
	ErrNoticeUnreadable = errors.New("refund: the notice cannot be read")
)

// Notice is what a channel tells of a refund without being asked. It names the refund by our number, by its own id, or
// by both; what it does not say is zero.
type Notice struct {
	// Digest tells one notice from another: the same content gives the same key, however often and with whatever time stamp
	// it comes.
	Digest          [32]byte
	Number          string
	ChannelRefundID string
	Status          FactKind // Succeeded, Acknowledged, FailedFinal, Reversed; Unknown = a status that we do not know
	Amount          int64
	Currency        Currency
	Code            string // the channel's word, as evidence
}

// Fact is what the notice says of a dispatch. A status that we do not know says nothing.
func (n Notice) Fact(dispatch int) (Fact, bool) {
	switch n.Status {
	case Succeeded, Acknowledged, FailedFinal, Reversed:
	default:
		return Fact{}, false
	}
	return Fact{Kind: n.Status, Dispatch: dispatch, ChannelRefundID: n.ChannelRefundID, Amount: n.Amount, Currency: n.Currency,
		Code: n.Code, Rule: "notice", Source: "notice", Actor: "system:channel"}, true
}

// Notifier is a channel's client that understands the channel's notices. A Channel may be one.
type Notifier interface {
	// ParseNotice checks the signature over the raw bytes before it reads them. Errors: ErrNoticeForged, ErrNoticeUnreadable.
	ParseNotice(header map[string][]string, body []byte) ([]Notice, error)
	// AckNotice is the channel's own form of "received" (true) and of "send it again" (false).
	AckNotice(ok bool) (status int, contentType string, body []byte)
}

// KeptNotice is a notice as it is stored: the bytes that were signed and the headers worth keeping beside it.
type KeptNotice struct {
	Notice
	Headers map[string][]string
	Body    []byte
}

// NoticeOutcome says what became of a notice.
type NoticeOutcome string

// What can become of it.
const (
	NoticeEntered  NoticeOutcome = "entered"  // a fact of a refund
	NoticeKnown    NoticeOutcome = "known"    // came before, or said what was known
	NoticeKept     NoticeOutcome = "kept"     // names no refund of ours yet
	NoticeUnusable NoticeOutcome = "unusable" // signed, but not to be read
)
