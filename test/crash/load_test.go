package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/refundry/refundry/test/e2e/harness"
)

// accounts of `refundry dev`, one for each profile.
var accounts = []string{"demo", "demo-list-and-match", "demo-key-replay-only", "demo-key-after-2xx", "demo-notice-only", "demo-blind"}

// channelFaults are the faults of the channel under load.
const channelFaults = "lost-after=0.08,lost-before=0.05,error-after=0.05,error-before=0.03,rate-limited=0.05,low-balance=0.05,refused=0.04,echo=0.02," +
	"pending=0.1,pending-failed=0.06,late-failure=0.05,late-failure@demo=0.3,hidden=0.05,notice-lost=0.4,notice-twice=0.1,notice-forged=0.05,seed=11"

// load sends requests all the time and repeats each until it is decided.
type load struct {
	t      *testing.T
	client *harness.Client
	ctx    context.Context
	wg     sync.WaitGroup
	stop   context.CancelFunc

	people  people
	channel *harness.Client

	installation string // for the numbers of refunds that are not requested yet; read only with strangers

	next     atomic.Int64
	mu       sync.Mutex
	shared   []string        // refunds whose payments have foreign lines
	reported map[string]bool // refund ids that were reported as accepted
	ids      []string        // the same, in order
}

// startLoad continues the load before, which can be nil.
func startLoad(s *site, before *load, strangers bool) *load {
	ctx, stop := context.WithCancel(s.t.Context())
	l := &load{t: s.t, client: s.dev.Client(), people: peopleOf(s.dev), channel: s.channel(), ctx: ctx, stop: stop, reported: map[string]bool{}}
	if before != nil {
		l.reported, l.ids, l.shared = before.reported, before.ids, before.shared
		l.next.Store(before.next.Load())
	}
	type work struct {
		every time.Duration
		do    func(ctx context.Context, id string)
	}
	all := []work{
		{100 * time.Millisecond, l.refund}, {100 * time.Millisecond, l.refund}, {500 * time.Millisecond, l.threeOfOne}, {400 * time.Millisecond, l.payment},
		{300 * time.Millisecond, l.events}, {200 * time.Millisecond, l.check}, {200 * time.Millisecond, l.decide}, {500 * time.Millisecond, l.tidy},
	}
	if strangers {
		l.installation = s.dev.DB().Text(s.t.Context(), `SELECT installation_id FROM installation`)
		all = append(all, work{400 * time.Millisecond, l.stranger}, work{200 * time.Millisecond, l.look},
			work{time.Second, l.early})
	}
	for _, one := range all {
		l.wg.Go(func() { l.repeat(one.every, one.do) })
	}
	l.wg.Go(func() { l.publish("nats://" + s.nats) })
	return l
}

// end starts no more requests and waits until all are decided.
func (l *load) end() {
	l.stop()
	l.wg.Wait()
}

func (l *load) repeat(every time.Duration, do func(ctx context.Context, id string)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
			// A request that was started is repeated until it is decided, also when the load ends.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), 3*time.Minute)
			do(ctx, fmt.Sprintf("c%06d", l.next.Add(1)))
			cancel()
		}
	}
}

func (l *load) accepted(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.reported[id] {
		l.reported[id] = true
		l.ids = append(l.ids, id)
	}
}

// some returns a refund that was accepted lately.
func (l *load) some() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) == 0 {
		return "", false
	}
	from := max(0, len(l.ids)-200)
	return l.ids[from+rand.IntN(len(l.ids)-from)], true // #nosec G404 -- load
}

func pick[T any](of []T) T { return of[rand.IntN(len(of))] } // #nosec G404 -- load

func request(id, payment, account string, amount, captured int64) harness.Request {
	r := harness.Request{RefundID: id, OrderID: "ord-" + payment, PaymentID: payment, Amount: amount, Currency: "USD"}
	if captured > 0 {
		r.Payment = &harness.Snapshot{OrderID: r.OrderID, Amount: captured, Currency: "USD", ChannelAccount: account}
	}
	return r
}

// post requests a refund until it is decided. It must be accepted.
func (l *load) post(ctx context.Context, r harness.Request) bool {
	res, ok := l.client.Post(ctx, "key-"+r.RefundID, r)
	if ok && (res.Status == http.StatusAccepted || res.Status == http.StatusOK) {
		l.accepted(r.RefundID)
		return true
	}
	l.t.Errorf("%s: status %d, want it accepted: %s", r.RefundID, res.Status, res.Body)
	return false
}

func (l *load) refund(ctx context.Context, id string) {
	l.post(ctx, request(id, "p-"+id, pick(accounts), 100+rand.Int64N(900), 1000)) // #nosec G404 -- load
}

// threeOfOne requests refunds of one payment on a channel that requires a second between them, and cancels the last one.
func (l *load) threeOfOne(ctx context.Context, id string) {
	for i := range 3 {
		if !l.post(ctx, request(fmt.Sprintf("%s-%d", id, i), "p-"+id, "demo-key-replay-only", 300, 1000)) {
			return
		}
	}
	res, ok := l.client.Send(ctx, http.MethodPost, "/v1/refunds/"+id+"-2/cancel", nil, nil)
	if ok && res.Status != http.StatusOK && res.Status != http.StatusConflict {
		l.t.Errorf("cancel %s: status %d, want 200 or 409: %s", id, res.Status, res.Body)
	}
}

func (l *load) payment(ctx context.Context, id string) {
	for version := range 2 {
		res, ok := l.client.Send(ctx, http.MethodPut, "/v1/payments/q-"+id, nil, map[string]any{"orderId": "ord-q-" + id, "amount": 500 + version, "currency": "USD",
			"channelAccount": "demo", "version": version + 1})
		if ok && res.Status != http.StatusOK && res.Status != http.StatusCreated {
			l.t.Errorf("PUT payment %s: status %d: %s", id, res.Status, res.Body)
		}
	}
}

// events sends a refund before its capture, one after it, and an undecodable message.
func (l *load) events(ctx context.Context, id string) {
	early, late := request(id+"-e", "p-"+id+"-e", "", 70, 0), request(id+"-l", "p-"+id+"-l", "", 80, 0)
	// Two requests: within one group the capture would be known before the refund is parked.
	l.push(ctx, harness.NewEvent("ask-"+early.RefundID, "refund.requested", early), map[string]any{"id": "poison-" + id, "source": "/crash"})
	l.push(ctx, capture(early), capture(late), harness.NewEvent("ask-"+late.RefundID, "refund.requested", late))
}

func capture(r harness.Request) harness.Event {
	return harness.NewEvent("cap-"+r.PaymentID, "payment.captured", harness.Capture{PaymentID: r.PaymentID, CaptureID: "c1", OrderID: r.OrderID,
		Amount: 100, Currency: "USD", ChannelAccount: pick(accounts)})
}

func (l *load) push(ctx context.Context, events ...any) {
	for i, v := range l.client.Events(ctx, events...) {
		switch v.Outcome {
		case "accepted", "replayed", "waiting":
			if e, ok := events[i].(harness.Event); ok && e.Type == "refund.requested" {
				if r, ok := e.Data.(harness.Request); ok && v.Outcome != "waiting" {
					l.accepted(r.RefundID)
				}
			}
		case "undecodable":
		default:
			l.t.Errorf("event %d: %q, want it accepted: %+v", i, v.Outcome, v.Problem)
		}
	}
}

// check queries the channel about an old refund, since a final one may have been returned.
func (l *load) check(ctx context.Context, _ string) {
	if id, ok := l.some(); ok {
		l.ask(ctx, id)
	}
}

// publish publishes events to the broker. An acknowledged event must become a refund.
func (l *load) publish(url string) {
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(200*time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.NoCallbacksAfterClientClose())
	if err != nil {
		l.t.Error(err)
		return
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		l.t.Error(err)
		return
	}
	l.repeat(150*time.Millisecond, func(ctx context.Context, id string) {
		r := request(id+"-n", "p-"+id+"-n", pick(accounts), 90, 1000)
		text, err := json.Marshal(struct {
			harness.Event
			TenantID string `json:"tenantid"`
		}{harness.NewEvent("ask-"+r.RefundID, "refund.requested", r), "demo"})
		if err != nil {
			l.t.Error(err)
			return
		}
		for ctx.Err() == nil {
			try, cancel := context.WithTimeout(ctx, 2*time.Second)
			_, err = js.Publish(try, "refundry.in.demo.refund.requested", text, jetstream.WithMsgID("ask-"+r.RefundID))
			cancel()
			if err == nil {
				l.accepted(r.RefundID)
				return
			}
			if l.ctx.Err() != nil {
				return // not acknowledged
			}
		}
	})
}
