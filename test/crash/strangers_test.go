package crash

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/refundry/refundry/test/e2e/harness"
)

// strange begins the ids of refunds that nobody has asked us for: somebody makes them at the channel itself.
const strange = "strange-"

// strangeSend is what the channel is asked by somebody else.
type strangeSend struct {
	Number           string `json:"number"`
	RefundID         string `json:"refundId"`
	Account          string `json:"account"`
	PaymentReference string `json:"paymentReference"`
	Amount           int64  `json:"amount"`
	Currency         string `json:"currency"`
}

// make asks the channel once. "" = it was away, or did not do it.
func (o strangeSend) make(ctx context.Context, channel *harness.Client) (channelRefundID string) {
	res, err := channel.Once(ctx, http.MethodPost, "/v1/refunds", harness.Headers{"Idempotency-Key": o.Number}, o)
	var got struct{ ChannelRefundID string }
	if err != nil || res.Status != http.StatusOK || json.Unmarshal(res.Body, &got) != nil {
		return ""
	}
	return got.ChannelRefundID
}

// reference is the channel's name for a payment of ours.
func reference(payment string) string { return "demo:" + payment }

// listed are the accounts whose payments are listed.
var listed = []string{"demo-list-and-match", "demo-key-after-2xx"}

// stranger refunds what we refund, too, in the same amount: the list of the payment has a line that may be ours.
func (l *load) stranger(ctx context.Context, id string) {
	account := pick(listed)
	one, two := request(id+"-s", "p-"+id+"-s", account, 300, 2000), request(id+"-t", "p-"+id+"-s", account, 200, 0)
	strangeSend{strange + id, strange + id, account, reference(one.PaymentID), one.Amount, one.Currency}.make(ctx, l.channel)
	if !l.post(ctx, one) || !l.post(ctx, two) {
		return
	}
	for range 2 {
		l.ask(ctx, one.RefundID)
		l.ask(ctx, two.RefundID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared = append(l.shared, one.RefundID, two.RefundID)
}

// look asks again about a payment with a line of somebody else.
func (l *load) look(ctx context.Context, _ string) {
	l.mu.Lock()
	recent := l.shared[max(0, len(l.shared)-30):]
	l.mu.Unlock()
	if len(recent) > 0 {
		l.ask(ctx, recent[rand.IntN(len(recent))]) // #nosec G404 -- load
	}
}

// ask has the channel asked about a refund.
func (l *load) ask(ctx context.Context, refundID string) {
	res, ok := l.client.Send(ctx, http.MethodPost, "/v1/refunds/"+refundID+"/check", nil, nil)
	if ok && res.Status >= http.StatusInternalServerError {
		l.t.Errorf("check %s: status %d: %s", refundID, res.Status, res.Body)
	}
}

func isStrange(refundID string) bool { return strings.HasPrefix(refundID, strange) }
