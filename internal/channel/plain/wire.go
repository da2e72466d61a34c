package plain

import (
	"encoding/json"
	"regexp"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/refund"
)

const codeNotFound = "not_found"

// sendBody is the body of POST /v1/refunds.
type sendBody struct {
	Number           string `json:"number"`
	RefundID         string `json:"refundId"`
	Account          string `json:"account"`
	PaymentReference string `json:"paymentReference"`
	Amount           int64  `json:"amount"`
	Currency         string `json:"currency"`
}

// wireRefund is a refund in an answer of the channel. An absent member is nil.
type wireRefund struct {
	Number           *string `json:"number"`
	ChannelRefundID  *string `json:"channelRefundId"`
	PaymentReference *string `json:"paymentReference"`
	Status           *string `json:"status"`
	Amount           *int64  `json:"amount"`
	Currency         *string `json:"currency"`

	Voucher json.RawMessage `json:"voucher"` // decoded separately: a malformed voucher does not invalidate a success
}

type wireList struct {
	Refunds  *[]wireRefund `json:"refunds"`
	Complete *bool         `json:"complete"`
}

// statuses are the statuses of api/simulator.yaml and what they prove.
var statuses = map[string]refund.FactKind{
	"succeeded": refund.Succeeded,
	"pending":   refund.Acknowledged,
	"failed":    refund.FailedFinal,
	"returned":  refund.Reversed,
}

var channelIDPattern = regexp.MustCompile(`^[\x21-\x7e]{1,64}$`)

func unknown(reply channel.Reply, rule string) refund.Answer {
	return refund.Answer{Kind: refund.Unknown, Rule: rule, Evidence: channel.Evidence(reply, nil)}
}

// ofRefund reads a 200 with one refund. The answer has the amount and currency of the refund even when they differ from the
// call, since that is what moved. Another number or payment makes it Unknown.
func ofRefund(reply channel.Reply, call refund.Call) refund.Answer {
	var w wireRefund
	if err := json.Unmarshal(reply.Body, &w); err != nil {
		return unknown(reply, "body.unreadable")
	}
	switch {
	case w.Number == nil || *w.Number != call.Number:
		return unknown(reply, "number.not-ours")
	case w.PaymentReference != nil && *w.PaymentReference != call.PaymentReference:
		return unknown(reply, "payment.not-ours")
	}
	line, rule := w.effect()
	if line.Status == refund.Unknown {
		return unknown(reply, rule)
	}
	return w.answer(line, reply, rule)
}

func (w wireRefund) answer(line refund.ListedEffect, reply channel.Reply, rule string) refund.Answer {
	return refund.Answer{
		Voucher: w.voucher(),
		Kind:    line.Status, ChannelRefundID: line.ChannelRefundID, Amount: line.Amount, Currency: line.Currency,
		Rule: rule, Evidence: channel.Evidence(reply, nil),
	}
}

// voucher returns the members that are texts.
func (w wireRefund) voucher() map[string]string {
	var members map[string]json.RawMessage
	if json.Unmarshal(w.Voucher, &members) != nil {
		return nil
	}
	var out map[string]string
	for name, raw := range members {
		var text string
		if json.Unmarshal(raw, &text) != nil || text == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = text
	}
	return out
}

// effect returns the refund as an effect. It is Unknown, with the rule that says why, when a member cannot be used.
func (w wireRefund) effect() (refund.ListedEffect, string) {
	nothing := refund.ListedEffect{Status: refund.Unknown}
	if w.Status == nil {
		return nothing, "status.absent"
	}
	kind, listed := statuses[*w.Status]
	if !listed {
		return nothing, "status.unlisted"
	}
	line := refund.ListedEffect{Status: kind}
	if w.Number != nil {
		line.Number = *w.Number
	}
	if w.ChannelRefundID != nil {
		if !channelIDPattern.MatchString(*w.ChannelRefundID) {
			return nothing, "id.malformed"
		}
		line.ChannelRefundID = *w.ChannelRefundID
	}
	if w.Amount != nil {
		if !refund.ValidAmount(*w.Amount) {
			return nothing, "amount.impossible"
		}
		line.Amount = *w.Amount
	}
	if w.Currency != nil {
		currency, err := refund.ParseCurrency(*w.Currency)
		if err != nil {
			return nothing, "currency.unlisted"
		}
		line.Currency = currency
	}
	return line, "status." + *w.Status
}

// ofList reads a list. A line that cannot be used makes the list incomplete, since it could be the refund.
func ofList(reply channel.Reply, call refund.Call) ([]refund.ListedEffect, bool, refund.Answer) {
	var w wireList
	if err := json.Unmarshal(reply.Body, &w); err != nil || w.Refunds == nil {
		return nil, false, unknown(reply, "body.unreadable")
	}
	complete := w.Complete != nil && *w.Complete
	lines := make([]refund.ListedEffect, 0, len(*w.Refunds))
	answer := unknown(reply, "list.incomplete")
	for _, one := range *w.Refunds {
		line, rule := one.effect()
		if line.Status == refund.Unknown || line.ChannelRefundID == "" || line.Amount == 0 || line.Currency == "" ||
			one.PaymentReference != nil && *one.PaymentReference != call.PaymentReference {
			complete = false
			continue
		}
		lines = append(lines, line)
		if line.Number == call.Number && answer.Kind == refund.Unknown {
			answer = one.answer(line, reply, rule)
		}
	}
	if answer.Kind == refund.Unknown && complete {
		answer.Kind, answer.Rule = refund.NotFound, "list.absent"
	}
	return lines, complete, answer
}
