package refund

import (
	"errors"
	"time"
)

// Errors of reading a notice.
var (
	// ErrNoticeForged: the signature does not match the bytes, or its time is too far away. Nothing of the notice may be
	// stored.
	ErrNoticeForged = errors.New("refund: the notice's signature does not match")
	// ErrNoticeUnreadable: the channel signed the notice and it cannot be read. It is kept until a later version reads it.
	ErrNoticeUnreadable = errors.New("refund: the notice cannot be read")
)

// Notice is a channel's message about a refund. It names the refund by our number, by the channel's id, or by both; a field
// that is not given is zero.
type Notice struct {
	// Digest identifies the content: repeats of a notice have the same digest, whatever their time stamps are.
	Digest          [32]byte
	Number          string
	ChannelRefundID string
	Status          FactKind // Succeeded, Acknowledged, FailedFinal, Reversed; Unknown = a status that we do not know
	Amount          int64
	Currency        Currency
	Code            string // the channel's code, as evidence
	Names           Names
}

// Fact returns the notice as a fact about a dispatch. An unknown status is no fact.
func (n Notice) Fact(dispatch int) (Fact, bool) {
	switch n.Status {
	case Succeeded, Acknowledged, FailedFinal, Reversed:
	default:
		return Fact{}, false
	}
	return Fact{Kind: n.Status, Dispatch: dispatch, ChannelRefundID: n.ChannelRefundID, Amount: n.Amount, Currency: n.Currency,
		Code: n.Code, Names: n.Names, Rule: "notice", Source: "notice", Actor: "system:channel"}, true
}

// Notifier is implemented by channel clients that read notices.
type Notifier interface {
	// ParseNotice checks the signature over the raw bytes before it reads them. Errors: ErrNoticeForged, ErrNoticeUnreadable.
	ParseNotice(header map[string][]string, body []byte) ([]Notice, error)
	// ReadNotice reads a notice that was stored unread, without its signature, which was checked when it came. header has the
	// stored headers. Errors: ErrNoticeUnreadable.
	ReadNotice(header map[string][]string, body []byte) ([]Notice, error)
	// AckNotice returns the channel's form of "received" (true) or "send it again" (false).
	AckNotice(ok bool) (status int, contentType string, body []byte)
}

// KeptNotice is a stored notice: the signed bytes and the headers that belong to them.
type KeptNotice struct {
	Notice
	Headers map[string][]string
	Body    []byte
}

// UnreadNotice is a stored notice that has a valid signature and cannot be read.
type UnreadNotice struct {
	Account   string
	Digest    [32]byte
	Headers   map[string][]string
	Body      []byte
	Reason    string // why it cannot be read; at most 500 bytes are stored
	TimesSeen int
	FirstAt   time.Time
}

// UnreadEnd is how the wait of an unread notice ended.
type UnreadEnd string

// Ends of unread notices.
const (
	UnreadRead      UnreadEnd = "read"      // a later version read it
	UnreadDismissed UnreadEnd = "dismissed" // by an operator
)

// NoticeOutcome is the outcome of a notice.
type NoticeOutcome string

// Outcomes of notices.
const (
	NoticeEntered  NoticeOutcome = "entered"  // entered as a fact of a refund
	NoticeKnown    NoticeOutcome = "known"    // received before, or already known
	NoticeKept     NoticeOutcome = "kept"     // names no refund of ours yet
	NoticeUnusable NoticeOutcome = "unusable" // with an unknown status
	NoticeUnread   NoticeOutcome = "unread"   // signed, but it cannot be read: the channel is asked to repeat it
	// NoticeContradicts: it names several refunds, of which each got a case.
	NoticeContradicts NoticeOutcome = "contradicts"
)
