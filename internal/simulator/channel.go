package simulator

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// stagedSend is a send that has been decided and is waiting for its line to
// reach the disk. refund is set exactly when refusal is not; rule is the fault
// that breaks the answer, if any.
type stagedSend struct {
	seq     int64
	refund  *refund
	refusal *refusal
	rule    *Rule
}

// acts says whether the channel does its work under the answer fault.
func (r *Rule) acts() bool {
	return r == nil || r.Fault == LostAfter || r.Fault == ErrorAfter || r.Fault == Slow
}

// stageSend decides what a send does and puts it into the record, in one step
// under the lock: two sends with one number cannot both make a refund, and the
// lines stand in the order of the decisions.
func (s *Simulator) stageSend(q sendRequest, p profile) (stagedSend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := at{q.Account, q.Number}
	req := request{
		op: OpSend, account: q.Account, subject: q.Number, refundID: q.RefundID,
		nth: s.books.sends[number] + 1, nthOfID: s.books.idSends[at{q.Account, q.RefundID}] + 1,
	}
	staged := stagedSend{rule: s.faults.pick(classAnswer, req)}
	e := entry{At: s.now(), Account: q.Account, Number: q.Number, RefundID: q.RefundID}
	if staged.rule != nil {
		e.Fault = staged.rule.Fault
	}
	known := s.books.byNumber[number]
	switch {
	case !staged.rule.acts():
		staged.refusal = staged.rule.refusal()
	case p.keyed && len(known) > 0 && !known[0].sameAs(q):
		staged.refusal = &refusal{http.StatusConflict, "number_reused", "the number was used with other parameters"}
	case p.keyed && len(known) > 0:
		staged.refund = known[0]
	default:
		e.Refund = s.make(q, req, e.At)
	}
	seq, err := s.record.stage(e)
	if err != nil {
		return stagedSend{}, err
	}
	staged.seq, e.Seq = seq, seq
	s.books.enter(e)
	if e.Refund != nil {
		staged.refund = s.books.all[len(s.books.all)-1]
	}
	return staged, nil
}

// make fixes everything about a new refund: when its money moves, how much of
// it, when it shows and whether it comes back.
func (s *Simulator) make(q sendRequest, req request, now time.Time) *made {
	m := &made{
		ID:               fmt.Sprintf("pr_%s_%d", s.instance, len(s.books.all)+1),
		PaymentReference: q.PaymentReference, Asked: q.Amount, Amount: q.Amount, Currency: q.Currency,
		SettlesAt: now,
	}
	if rule := s.faults.pick("pending", req); rule != nil {
		m.SettlesAt = now.Add(rule.delay(s.cfg.PendingDelay))
		m.Fails = rule.Fault == PendingFailed
	}
	if s.faults.pick("amount", req) != nil {
		m.Amount = wrongAmount(q.Amount)
	}
	if rule := s.faults.pick("hidden", req); rule != nil {
		shows := m.SettlesAt.Add(rule.delay(s.cfg.HiddenDelay))
		m.VisibleAt = &shows
	}
	if m.Fails {
		return m
	}
	if rule := s.faults.pick("return", req); rule != nil {
		back := m.SettlesAt.Add(rule.delay(s.cfg.LateFailureDelay))
		m.ReturnsAt = &back
	}
	return m
}

// wrongAmount is one unit too much, the error that hurts, where there is room.
func wrongAmount(asked int64) int64 {
	if asked == maxAmount {
		return asked - 1
	}
	return asked + 1
}

// find looks a refund up by number; nil means not found, or not seen yet.
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
	v := known[0].view(now)
	return &v, rule
}

// listed returns the refunds of a payment, oldest first.
func (s *Simulator) listed(account, reference string) (listView, *Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req := s.books.read(OpList, account, reference)
	rule := s.faults.pick(classAnswer, req)
	now := s.now()
	v := listView{Refunds: []refundView{}, Complete: true}
	if s.faults.pick("hidden", req) == nil {
		for _, r := range s.onDisk(s.books.byPayment[at{account, reference}]) {
			if r.visible(now) {
				v.Refunds = append(v.Refunds, r.view(now))
			}
		}
	}
	if s.faults.pick("complete", req) != nil {
		v.Complete = false
		v.Refunds = v.Refunds[:max(0, len(v.Refunds)-1)]
	}
	return v, rule
}

// moved returns the effects, oldest line first: all, or those of one number.
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

// onDisk cuts off the refunds whose line is not on the disk yet: they stand last.
func (s *Simulator) onDisk(refunds []*refund) []*refund {
	durable := s.record.durableSeq()
	end := len(refunds)
	for end > 0 && refunds[end-1].seq > durable {
		end--
	}
	return slices.Clip(refunds[:end])
}
