package plain

import (
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

// wireRefund is a refund in an answer of the channel, in a list or in a notice. An absent member is nil.
type wireRefund struct {
	number, refundID, channelRefundID, account, paymentReference, status, currency *string

	amount  *int64
	voucher map[string]string // its members that are texts: a malformed voucher does not invalidate a success
}

// members are the members of a refund that the client reads.
func (w *wireRefund) members() []channel.Member {
	return []channel.Member{
		channel.TextMember("number", &w.number),
		channel.TextMember("refundId", &w.refundID),
		channel.TextMember("channelRefundId", &w.channelRefundID),
		channel.TextMember("account", &w.account),
		channel.TextMember("paymentReference", &w.paymentReference),
		channel.TextMember("status", &w.status),
		channel.IntegerMember("amount", &w.amount),
		channel.TextMember("currency", &w.currency),
		channel.TextsMember("voucher", &w.voucher),
	}
}

// names returns what the refund says about whose it is. account is the account's name at the channel, "" = not known.
func (w *wireRefund) names(account string) refund.Names {
	n := refund.Names{RefundID: text(w.refundID), PaymentReference: text(w.paymentReference)}
	if w.account != nil && account != "" && *w.account != account {
		n.Conflict = "account"
	}
	return n
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
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
// call, since that is what moved. Another number, refund id, payment or account makes it Unknown.
func (c *Client) ofRefund(reply channel.Reply, call refund.Call) refund.Answer {
	var w wireRefund
	if channel.ReadDocument(reply.Body, w.members()...) != nil {
		return unknown(reply, "body.unreadable")
	}
	names := w.names(c.account(call))
	if rule := strange(w.number, names, call); rule != "" {
		a := unknown(reply, rule)
		a.Names, a.Names.Number = names, text(w.number)
		return a
	}
	line, rule := w.effect()
	if line.Status == refund.Unknown {
		return unknown(reply, rule)
	}
	return w.answer(line, names, reply, rule)
}

// strange returns the rule by which an answer is not about the refund of the call; "" = it is.
func strange(number *string, names refund.Names, call refund.Call) string {
	switch {
	case number == nil || *number != call.Number:
		return "number.not-ours"
	case names.PaymentReference != "" && names.PaymentReference != call.PaymentReference:
		return "payment.not-ours"
	case names.RefundID != "" && names.RefundID != call.RefundID:
		return "refund-id.not-ours"
	case names.Conflict != "":
		return names.Conflict + ".not-ours"
	}
	return ""
}

func (w *wireRefund) answer(line refund.ListedEffect, names refund.Names, reply channel.Reply, rule string) refund.Answer {
	return refund.Answer{
		Voucher: w.voucher, Names: names,
		Kind: line.Status, ChannelRefundID: line.ChannelRefundID, Amount: line.Amount, Currency: line.Currency,
		Rule: rule, Evidence: channel.Evidence(reply, nil),
	}
}

// effect returns the refund as an effect. It is Unknown, with the rule that says why, when a member cannot be used.
func (w *wireRefund) effect() (refund.ListedEffect, string) {
	nothing := refund.ListedEffect{Status: refund.Unknown}
	if w.status == nil {
		return nothing, "status.absent"
	}
	kind, listed := statuses[*w.status]
	if !listed {
		return nothing, "status.unlisted"
	}
	line := refund.ListedEffect{Status: kind}
	if w.number != nil {
		line.Number = *w.number
	}
	if w.channelRefundID != nil {
		if !channelIDPattern.MatchString(*w.channelRefundID) {
			return nothing, "id.malformed"
		}
		line.ChannelRefundID = *w.channelRefundID
	}
	if w.amount != nil {
		if !refund.ValidAmount(*w.amount) {
			return nothing, "amount.impossible"
		}
		line.Amount = *w.amount
	}
	if w.currency != nil {
		currency, err := refund.ParseCurrency(*w.currency)
		if err != nil {
			return nothing, "currency.unlisted"
		}
		line.Currency = currency
	}
	return line, "status." + *w.status
}
