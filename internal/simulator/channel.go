package simulator

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// stagedSend is a decided send whose line is not on disk yet. The answer is refusal, if set, otherwise the refund with its
// status at the time asOf (zero: at the time of the answer). rule is the fault that breaks the answer, if any.
type stagedSend struct {
	seq     int64
	number  at
	profile profile
	refund  *refund
	asOf    time.Time
	refusal *refusal
	rule    *Rule
	fresh   bool // this send has made the refund
}

// acts reports whether the channel makes the refund under the answer fault.
func (r *Rule) acts() bool {
	return r == nil || r.Fault == LostAfter || r.Fault == ErrorAfter || r.Fault == Slow
}

// onTheWay reports whether the fault concerns the transport of the request or of its answer, and not the channel's
// decision.
func (r *Rule) onTheWay() bool {
	return slices.Contains([]Fault{LostAfter, LostBefore, Slow, RateLimited}, r.Fault)
}

// stageSend decides a send and adds it to the record, in one step under the lock: two sends of one number cannot both make
// a refund, and the lines have the order of the decisions. The send is in flight until answered is called.
func (s *Simulator) stageSend(q sendRequest, p profile) (stagedSend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := at{q.Account, q.Number}
	req := request{
		op: OpSend, account: q.Account, subject: q.Number, refundID: q.RefundID,
		nth: s.books.sends[number] + 1, nthOfID: s.books.idSends[at{q.Account, q.RefundID}] + 1,
	}
	staged := stagedSend{number: number, profile: p, rule: s.faults.pick(classAnswer, req)}
	e := entry{At: s.now(), Account: q.Account, Number: q.Number, RefundID: q.RefundID}
	s.decide(&staged, &e, q, req)
	seq, err := s.record.stage(e)
	if err != nil {
		return stagedSend{}, err
	}
	staged.seq, e.Seq = seq, seq
	s.books.enter(e)
	if e.Refund != nil {
		staged.refund, staged.fresh = s.books.all[len(s.books.all)-1], true
		staged.refund.keyKnown = !p.after2xx
	}
	s.inFlight[number]++
	return staged, nil
}

// answered ends the flight of a send. Where keys are kept only after a 2xx, the key is kept from now on.
func (s *Simulator) answered(staged stagedSend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight[staged.number]--; s.inFlight[staged.number] <= 0 {
		delete(s.inFlight, staged.number)
	}
	if staged.fresh && (staged.rule == nil || staged.rule.Fault != ErrorAfter) {
		staged.refund.keyKnown = true
	}
}

// decide decides the send: first by its key, then by the faults, then by the rules of the channel. If none of them applies,
// the send makes a refund.
func (s *Simulator) decide(staged *stagedSend, e *entry, q sendRequest, req request) {
	p, rule := staged.profile, staged.rule
	if rule != nil {
		e.Fault, e.Code = rule.Fault, rule.Code
	}
	switch {
	case rule != nil && (rule.Fault == LostBefore || rule.Fault == RateLimited):
		staged.refusal = rule.refusal()
		return
	case p.refusesTwins && s.inFlight[staged.number] > 0:
		staged.refusal = &refusal{http.StatusConflict, "in_flight", "another request with this number is not answered yet"}
		return
	case p.keyed && s.fromKey(staged, q, req):
		if staged.rule == nil {
			e.Fault, e.Code = "", ""
		}
		return
	}
	held := rule != nil && rule.Fault == LowBalance && p.holds
	if !rule.acts() && !held {
		staged.refusal = rule.refusal()
	} else if r := s.broken(q, req, e.At); r != nil {
		staged.refusal, e.Fault, e.Code = r.refusal(), r.Fault, r.Code
	} else {
		e.Refund = s.make(q, req, e.At, p)
		if held {
			e.Refund.SettlesAt = e.At.Add(rule.delay(s.cfg.PendingDelay))
			e.Fault, staged.rule = "", nil
		}
	}
	if p.keepsAnswer && e.Fault != Spacing {
		e.Keeps = true
		if e.Refund == nil {
			e.Asked = &asked{q.PaymentReference, q.Amount, q.Currency}
		} else {
			staged.asOf = e.At
		}
	}
}

// fromKey answers from the number's earlier send, if its key has not expired.
func (s *Simulator) fromKey(staged *stagedSend, q sendRequest, req request) bool {
	p, now := staged.profile, s.now()
	alive := func(since time.Time) bool { return p.lifetime == 0 || now.Before(since.Add(p.lifetime)) }
	reused := &refusal{http.StatusConflict, "number_reused", "the number was used with other parameters"}
	known := s.books.byNumber[staged.number]
	kept, isKept := s.books.kept[staged.number]
	switch {
	case p.keepsAnswer && (!isKept || !alive(kept.at)):
		return false
	case !p.keepsAnswer && (len(known) == 0 || !alive(known[0].at)):
		return false
	case s.faults.pick("key", req) != nil:
		return false
	case p.keepsAnswer && !kept.sameAs(q), !p.keepsAnswer && !known[0].sameAs(q):
		staged.refusal = reused
	case p.keepsAnswer:
		staged.refund, staged.asOf = kept.refund, kept.at
		if broke := (Rule{Fault: kept.fault, Code: kept.code}); kept.fault != "" && !broke.onTheWay() {
			staged.refusal = broke.refusal()
		}
		if staged.rule != nil && !staged.rule.onTheWay() {
			staged.rule = nil // the first send has settled the decision of the channel
		}
		return true
	default:
		i := slices.IndexFunc(known, func(r *refund) bool { return !p.after2xx || r.keyKnown })
		if i < 0 {
			return false
		}
		staged.refund = known[i]
	}
	if !staged.rule.acts() {
		staged.refusal = staged.rule.refusal()
	}
	return true
}

// broken returns the rule of the channel that the send breaks, or nil.
func (s *Simulator) broken(q sendRequest, req request, now time.Time) *Rule {
	payment := at{q.Account, q.PaymentReference}
	soon := func(r *Rule) bool {
		last, ok := s.books.madeAt[payment]
		return ok && now.Sub(last) < r.delay(time.Second)
	}
	full := func(r *Rule) bool { return len(s.books.byPayment[payment]) >= r.limit() }
	twin := func(r *Rule) bool {
		return slices.ContainsFunc(s.books.byPayment[payment], func(o *refund) bool {
			return o.Asked == q.Amount && o.Currency == q.Currency && now.Sub(o.at) < r.delay(30*time.Second)
		})
	}
	for _, rule := range []struct {
		class  string
		broken func(*Rule) bool
	}{{"spacing", soon}, {"count", full}, {"duplicate", twin}} {
		if r := s.faults.pickIf(rule.class, req, rule.broken); r != nil {
			return r
		}
	}
	return nil
}

// make returns a new refund with everything fixed: when and how much money moves, when the refund is visible, and whether
// the money comes back.
func (s *Simulator) make(q sendRequest, req request, now time.Time, p profile) *made {
	m := &made{
		ID:               fmt.Sprintf("pr_%s_%d", s.instance, len(s.books.all)+1),
		PaymentReference: q.PaymentReference, Asked: q.Amount, Amount: q.Amount, Currency: q.Currency,
		SettlesAt: now,
	}
	if p.acknowledges {
		m.SettlesAt = now.Add(s.cfg.PendingDelay)
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

// wrongAmount returns one minor unit too much, where the limit allows it.
func wrongAmount(asked int64) int64 {
	if asked == maxAmount {
		return asked - 1
	}
	return asked + 1
}
