package harness

import (
	"fmt"
	"time"
)

// Request is the body of POST /v1/refunds.
type Request struct {
	RefundID  string    `json:"refundId"`
	OrderID   string    `json:"orderId"`
	PaymentID string    `json:"paymentId"`
	Amount    int64     `json:"amount"`
	Currency  string    `json:"currency"`
	Payment   *Snapshot `json:"payment,omitempty"`
}

// Snapshot is a payment in PUT and inside a refund request.
type Snapshot struct {
	OrderID        string `json:"orderId"`
	Amount         int64  `json:"amount"`
	Currency       string `json:"currency"`
	ChannelAccount string `json:"channelAccount"`
}

// Refund is a refund of the API.
type Refund struct {
	RefundID, State, OrderID, PaymentID, Currency, ChannelAccount, Digest string
	Amount                                                                int64
	Version                                                               int
	PendingReason, ChannelRefundID                                        *string
	Case                                                                  *Case
	Failure                                                               *struct {
		Code        string
		ChannelCode *string
	}
	NextActionAt *time.Time
}

func (r Refund) String() string {
	s := fmt.Sprintf("%s version %d", r.State, r.Version)
	if r.PendingReason != nil {
		s += " because " + *r.PendingReason
	}
	if r.Case != nil {
		s += fmt.Sprintf(" case %v", r.Case.Reasons)
	}
	return s
}

// Case is an open case of a refund.
type Case struct {
	ID, Reason string
	Reasons    []string
}

// Timeline is everything that is stored about a refund.
type Timeline struct {
	RefundID, State string
	Journal         []struct {
		Seq        int
		Kind       string
		From       *string
		To         string
		Generation int
		Source     string
	}
	Dispatches []struct {
		No             int
		Number         string
		Exposed        bool
		CreatedAt      time.Time
		KeyExpiresAt   *time.Time
		ChannelAccount string
	}
	Attempts []Attempt
	Effects  []struct {
		ID, Status, Source string
		ChannelRefundID    *string
		Amount             int64
		Voucher            map[string]string
	}
	Case *Case
}

// Attempt is one call to the channel.
type Attempt struct {
	No, Dispatch, Generation int
	Kind                     string
	StartedAt                time.Time
	Answer, Rule             *string
	Late                     bool
	Evidence                 map[string]any
}

// Calls returns the number of attempts of one kind: SEND, QUERY or LIST.
func (t Timeline) Calls(kind string) int { return len(t.Answers(kind)) }

// Answers returns what the attempts of one kind proved, in order; "" = no answer.
func (t Timeline) Answers(kind string) []string {
	out := []string{}
	for _, a := range t.Attempts {
		if a.Kind != kind {
			continue
		}
		answer := ""
		if a.Answer != nil {
			answer = *a.Answer
		}
		out = append(out, answer)
	}
	return out
}

// States returns the states of the refund in order; staying in one counts once.
func (t Timeline) States() []string {
	var out []string
	for _, j := range t.Journal {
		if len(out) == 0 || out[len(out)-1] != j.To {
			out = append(out, j.To)
		}
	}
	return out
}

// Payment is a payment of the API.
type Payment struct {
	PaymentID, OrderID, Currency, KnownBy                                     string
	Captured, Reserved, Refunded, RefundedElsewhere, Held, Excess, Refundable int64
}

// Problem is an error document.
type Problem struct {
	Type, Title, Code, Detail, RequestID string
	Status                               int
	Retryable                            bool
	Fields                               []string
}

// Verdict is the outcome of one event.
type Verdict struct {
	Index                int
	ID, Source, RefundID *string
	Outcome              string
	State                *string
	Problem              *struct {
		Code   string
		Fields []string
	}
}

// Event is a CloudEvent in the JSON format.
type Event struct {
	SpecVersion string `json:"specversion"`
	ID          string `json:"id"`
	Source      string `json:"source"`
	Type        string `json:"type"`
	Data        any    `json:"data"`
}

// NewEvent returns an event of the type.
func NewEvent(id, kind string, data any) Event {
	return Event{SpecVersion: "1.0", ID: id, Source: "/e2e", Type: kind, Data: data}
}

// Capture is the data of payment.captured.
type Capture struct {
	PaymentID      string `json:"paymentId"`
	CaptureID      string `json:"captureId"`
	OrderID        string `json:"orderId"`
	Amount         int64  `json:"amount"`
	Currency       string `json:"currency"`
	ChannelAccount string `json:"channelAccount"`
}
