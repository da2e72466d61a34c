package crash

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/test/e2e/harness"
)

// strange begins the ids of refunds that another party makes at the channel, also of those that are requested under its number then.
const strange = "strange-"

// strangeSend is the request of another party to the channel.
type strangeSend struct {
	Number           string `json:"number"`
	RefundID         string `json:"refundId"`
	Account          string `json:"account"`
	PaymentReference string `json:"paymentReference"`
	Amount           int64  `json:"amount"`
	Currency         string `json:"currency"`
}

// make sends the request once. "" = the channel did not answer or did not make a refund.
func (o strangeSend) make(ctx context.Context, channel *harness.Client) (channelRefundID string) {
	res, err := channel.Once(ctx, http.MethodPost, "/v1/refunds", harness.Headers{"Idempotency-Key": o.Number}, o)
	var got struct{ ChannelRefundID string }
	if err != nil || res.Status != http.StatusOK || json.Unmarshal(res.Body, &got) != nil {
		return ""
	}
	return got.ChannelRefundID
}

// reference returns the channel's reference of a payment.
func reference(payment string) string { return "demo:" + payment }

// listed are the accounts with lists of payments.
var listed = []string{"demo-list-and-match", "demo-key-after-2xx"}

// stranger requests a refund that another party also makes, of the same amount: the payment's list has a line that may be
// ours.
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

// early requests a refund whose number another party has used at the channel before, so that its notice comes before the request.
func (l *load) early(ctx context.Context, id string) {
	one := request(strange+id+"-y", "p-"+id+"-y", "demo-key-after-2xx", 400, 2000)
	number := refund.DispatchNumber(l.installation, "demo", one.RefundID, 1)
	if (strangeSend{number, one.RefundID, "demo-key-after-2xx", reference(one.PaymentID), one.Amount, one.Currency}).make(ctx, l.channel) == "" {
		return
	}
	if clock.Pause(ctx, 500*time.Millisecond) == nil { // the notice comes meanwhile
		l.post(ctx, one)
	}
}

// look queries a payment with a foreign line again.
func (l *load) look(ctx context.Context, _ string) {
	l.mu.Lock()
	recent := l.shared[max(0, len(l.shared)-30):]
	l.mu.Unlock()
	if len(recent) > 0 {
		l.ask(ctx, recent[rand.IntN(len(recent))]) // #nosec G404 -- load
	}
}

// ask queries the channel about a refund.
func (l *load) ask(ctx context.Context, refundID string) {
	res, ok := l.client.Send(ctx, http.MethodPost, "/v1/refunds/"+refundID+"/check", nil, nil)
	if ok && res.Status >= http.StatusInternalServerError {
		l.t.Errorf("check %s: status %d: %s", refundID, res.Status, res.Body)
	}
}

func isStrange(refundID string) bool { return strings.HasPrefix(refundID, strange) }
