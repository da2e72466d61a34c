package plain

import (
	"context"
	"net/http"
	"net/url"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/refund"
)

// maxPages bounds the pages of one list.
const maxPages = 100

// listing is a list as it is read page by page.
type listing struct {
	lines    []refund.ListedEffect
	complete bool          // so far
	answer   refund.Answer // about the number of the call; Unknown until a line has it
}

// List reads the refunds of the payment, page by page. The answer is about the number of the call; it is NotFound only if the
// list is complete: every page says so, the last one has no next page, and every line could be used. The lines of the pages
// that were read are returned even if a later page fails.
func (c *Client) List(ctx context.Context, call refund.Call) ([]refund.ListedEffect, bool, refund.Answer) {
	l := &listing{complete: true, answer: refund.Answer{Kind: refund.Unknown}}
	path := "/v1/payments/" + url.PathEscape(call.PaymentReference) + "/refunds"
	after := ""
	for range maxPages {
		reply, err := c.get(ctx, call, path, after)
		if err != nil {
			return l.broken(channel.Failed(reply, err))
		}
		if reply.Status != http.StatusOK {
			return l.broken(c.ofError(reply))
		}
		next, ok := c.readPage(reply, call, l)
		switch {
		case !ok:
			return l.broken(unknown(reply, "body.unreadable"))
		case next == "":
			if l.answer.Kind == refund.Unknown && l.complete {
				l.answer.Kind, l.answer.Rule = refund.NotFound, "list.absent"
			}
			return l.lines, l.complete, l.answer
		case next == after:
			return l.broken(unknown(reply, "list.no-progress"))
		}
		after, ctx = next, channel.NextPage(ctx)
	}
	l.answer.Rule = "list.too-long"
	return l.broken(l.answer)
}

// broken ends a list whose next page is missing. why is the answer, unless an earlier page has the number.
func (l *listing) broken(why refund.Answer) ([]refund.ListedEffect, bool, refund.Answer) {
	if l.answer.Kind != refund.Unknown {
		why = l.answer
	}
	return l.lines, false, why
}

// readPage adds a page to the list and returns the cursor of the next one; false = it cannot be read. A line that cannot be used
// makes the list incomplete, since it could be the refund; so does a line that names another payment or account.
func (c *Client) readPage(reply channel.Reply, call refund.Call, l *listing) (next string, ok bool) {
	var all []*wireRefund
	var listed bool
	var said *bool
	var cursor *string
	err := channel.ReadDocument(reply.Body, channel.BoolMember("complete", &said), channel.TextMember("next", &cursor),
		channel.ObjectsMember("refunds", &listed, func() []channel.Member {
			all = append(all, &wireRefund{})
			return all[len(all)-1].members()
		}))
	if err != nil || !listed {
		return "", false
	}
	if l.answer.Kind == refund.Unknown {
		l.answer = unknown(reply, "list.incomplete")
	}
	l.complete = l.complete && said != nil && *said
	for _, one := range all {
		line, rule := one.effect()
		if line.Status == refund.Unknown || line.ChannelRefundID == "" || line.Amount == 0 || line.Currency == "" {
			l.complete = false
			continue
		}
		line.Names = one.names(c.account(call))
		if line.Names.Conflict == "" && line.Names.PaymentReference != "" && line.Names.PaymentReference != call.PaymentReference {
			line.Names.Conflict = "payment"
		}
		l.lines = append(l.lines, line)
		if line.Names.Conflict != "" {
			l.complete = false
			continue
		}
		if line.Number == call.Number && l.answer.Kind == refund.Unknown {
			l.answer = one.answer(line, line.Names, reply, rule)
		}
	}
	return text(cursor), true
}
