package simulator

import (
	"slices"
	"strconv"
)

// find returns the refund with a number; nil when there is none or it is not visible yet.
func (s *Simulator) find(account, number string) (*refundView, *Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req := s.books.read(OpQuery, account, number)
	rule := s.faults.pick(classAnswer, req)
	now := s.now()
	known := s.onDisk(s.books.byNumber[at{account, number}])
	if s.faults.pick("hidden", req) != nil || len(known) == 0 || !known[0].visible(now) {
		return nil, rule
	}
	v := known[0].view(now, s.profile(account))
	return &v, rule
}

// listed returns one page of the refunds of a payment, oldest first. after is the line of the last refund of the page before.
func (s *Simulator) listed(account, reference string, after int64) (listView, *Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req := s.books.read(OpList, account, reference)
	rule := s.faults.pick(classAnswer, req)
	now := s.now()
	v := listView{Refunds: []refundView{}, Complete: true}
	if s.faults.pick("hidden", req) == nil {
		last := after
		for _, r := range s.onDisk(s.books.byPayment[at{account, reference}]) {
			if r.seq <= after || !r.visible(now) {
				continue
			}
			if len(v.Refunds) == s.cfg.ListPage {
				v.Next = strconv.FormatInt(last, 10)
				break
			}
			v.Refunds, last = append(v.Refunds, r.view(now, s.profile(account))), r.seq
		}
	}
	if s.faults.pick("complete", req) != nil {
		v.Complete = false
		v.Refunds = v.Refunds[:max(0, len(v.Refunds)-1)]
	}
	return v, rule
}

// moved returns the effects in the order of their lines: all, or those of one number.
func (s *Simulator) moved(number string) []effectView {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	effects := []effectView{}
	for _, r := range s.onDisk(s.books.all) {
		if !r.moved(now) || number != "" && r.number != number {
			continue
		}
		effects = append(effects, effectView{
			Number: r.number, RefundID: r.refundID, Account: r.account, PaymentReference: r.PaymentReference,
			Amount: r.Amount, Currency: r.Currency, Status: r.status(now),
			Requests: s.books.sends[at{r.account, r.number}], At: r.SettlesAt,
		})
	}
	return effects
}

// onDisk leaves out the refunds whose line is not on disk yet, which are the last ones.
func (s *Simulator) onDisk(refunds []*refund) []*refund {
	durable := s.record.durableSeq()
	end := len(refunds)
	for end > 0 && refunds[end-1].seq > durable {
		end--
	}
	return slices.Clip(refunds[:end])
}
