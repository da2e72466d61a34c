package simulator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Headers of a notice. The signature is the HMAC-SHA-256, with the account's notice secret, of the time stamp, a dot and
// the body.
const (
	headerTimestamp = "Plain-Timestamp"
	headerSignature = "Plain-Signature"
)

const (
	noticeTick     = 20 * time.Millisecond
	noticeTries    = 40
	noticeAtOnce   = 16
	noticeTimeout  = 10 * time.Second
	firstPause     = 100 * time.Millisecond
	longestPause   = 5 * time.Second
	noticesKeptFor = 10 * time.Minute // a restart sends these notices again
)

// noticeView is the body of a notice: one change of one refund.
type noticeView struct {
	ID               string    `json:"id"` // the same in every repeat
	Account          string    `json:"account"`
	Number           string    `json:"number"`
	RefundID         string    `json:"refundId"`
	ChannelRefundID  string    `json:"channelRefundId"`
	PaymentReference string    `json:"paymentReference"`
	Status           string    `json:"status"`
	Amount           int64     `json:"amount"`
	Currency         string    `json:"currency"`
	OccurredAt       time.Time `json:"occurredAt"`
}

// SetNotices sets the URL of the notices, in which {account} stands for the account's name, for example
// http://127.0.0.1:8080/v1/channels/{account}/notices. It sends the notices of the last ten minutes again. It can be called
// again.
func (s *Simulator) SetNotices(target string) error {
	u, err := url.Parse(strings.ReplaceAll(target, "{account}", "a"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("simulator: %q is not a URL for notices", target)
	}
	c := &s.sender
	c.mu.Lock()
	c.target = target
	if c.client == nil {
		c.client = &http.Client{Timeout: noticeTimeout, Transport: &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		c.slots = make(chan struct{}, noticeAtOnce)
		c.run, c.end = context.WithCancel(context.Background())
		c.wg.Go(func() { s.deliver() })
	}
	c.mu.Unlock()
	s.mu.Lock()
	known := s.onDisk(s.books.all)
	since := s.now().Add(-noticesKeptFor)
	s.mu.Unlock()
	for _, r := range known {
		if r.SettlesAt.After(since) || r.ReturnsAt != nil && r.ReturnsAt.After(since) {
			s.announce(r)
		}
	}
	return nil
}

// announce queues the notices of a refund, each for its time.
func (s *Simulator) announce(r *refund) {
	s.sender.mu.Lock()
	active := s.sender.target != ""
	s.sender.mu.Unlock()
	acct, ok := s.account(r.account)
	p := s.profile(r.account)
	if !active || !ok || acct.NoticeSecret == "" || !p.notices {
		return
	}
	moments := []time.Time{r.SettlesAt}
	if r.ReturnsAt != nil {
		moments = append(moments, *r.ReturnsAt)
	}
	s.mu.Lock()
	var line []delivery
	for i, at := range moments {
		line = append(line, s.noticesOf(r, i+1, at, p)...)
	}
	s.mu.Unlock()
	s.sender.mu.Lock()
	s.sender.waiting = append(s.sender.waiting, line...)
	s.sender.mu.Unlock()
}

// noticesOf returns the nth notice of a refund as the rules change it. The caller holds the simulator's lock.
func (s *Simulator) noticesOf(r *refund, nth int, at time.Time, p profile) []delivery {
	v := noticeView{ID: fmt.Sprintf("%s-%d", r.ID, nth), Account: r.account, Number: r.number, RefundID: r.refundID, ChannelRefundID: r.ID,
		PaymentReference: r.PaymentReference, Status: r.reported(at, p), Amount: r.Amount, Currency: r.Currency, OccurredAt: at}
	q := request{op: OpNotice, account: r.account, subject: r.number, refundID: r.refundID, nth: nth, nthOfID: nth}
	d := delivery{account: r.account, body: encode(v), due: at}
	var line []delivery
	if s.faults.pick("forged", q) != nil {
		v.Status = map[bool]string{true: statusSucceeded, false: statusFailed}[v.Status != statusSucceeded]
		line = append(line, delivery{account: r.account, body: encode(v), due: at, forged: true})
	}
	copies := 1
	if rule := s.faults.pick("copies", q); rule != nil {
		copies = rule.limit()
	}
	if rule := s.faults.pick("notice", q); rule != nil {
		if rule.Fault == NoticeLost {
			return line
		}
		d.due = at.Add(rule.delay(s.cfg.NoticeDelay))
	}
	for range copies {
		line = append(line, d)
	}
	return line
}

// encode returns the body of a notice.
func encode(v noticeView) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return body
}
