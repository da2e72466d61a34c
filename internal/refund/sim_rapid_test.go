package refund

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Two refunds of one payment, driven at random against the channel of sim_channel_test.go: crashes, late and lost
// answers, takeovers, notices in any order, money that comes back. No person decides anything but to close the case of an end.

// sim is the whole world. The payment is one row that both records share, as under its lock.
type sim struct {
	rt      *rapid.T
	c       Contract
	ch      *simChannel
	recs    [2]Record
	quiet   bool // no more faults: every call is heard and tells the truth
	history []string
}

func newSim(rt *rapid.T, c Contract) *sim {
	s := &sim{rt: rt, c: c, ch: &simChannel{c: c, now: day0}}
	for i := range s.recs {
		r := born()
		r.RID[15], r.RefundID = byte(7+i), fmt.Sprintf("rf_%d", i+1)
		r.Dispatches[0].Number = DispatchNumber(r.Installation, r.TenantCode, r.RefundID, 1)
		if i == 1 {
			r.Amount = 500
		}
		r.Payment.Reserved, r.Payment.Refunds = 1500, 2
		s.recs[i] = r
	}
	return s
}

func (s *sim) note(format string, a ...any) { s.history = append(s.history, fmt.Sprintf(format, a...)) }

func (s *sim) fail(format string, a ...any) {
	s.rt.Helper()
	for _, h := range s.history {
		s.rt.Log(h)
	}
	s.rt.Fatalf("%s: "+format, append([]any{s.c.Profile}, a...)...)
}

// set writes a record, and the payment into both.
func (s *sim) set(i int, r Record) {
	s.recs[i] = r
	s.recs[1-i].Payment = r.Payment
}

func (s *sim) pass(d time.Duration) {
	s.ch.pass(s.ch.now.Add(d))
	for i := range s.recs {
		s.recs[i].Now = s.ch.now
	}
}

// enter applies a fact and checks every promise.
func (s *sim) enter(i int, f Fact) {
	before := s.recs[i]
	ch, err := Apply(before, f, s.c)
	if errors.Is(err, ErrNotOwner) {
		return
	}
	s.note("%s rf_%d %s: %s(%d %s %d) → %s exposed=%v case=%v %v", s.ch.now.Format("15:04:05"), i+1, before.State, f.Kind, f.Dispatch, f.ChannelRefundID, f.Amount,
		ch.After.State, ch.After.Exposed, reasonsOf(ch.After.Case), ch.Rows)
	if err != nil {
		s.fail("%s in %s: %v", f.Kind, before.State, err)
	}
	s.set(i, ch.After)
	problems := slices.Concat(brokenRow(before, ch), brokenMoney(s.recs[0], s.recs[1]))
	if len(problems) > 0 {
		s.fail("%s in %s: %v", f.Kind, before.State, problems)
	}
}

// step does the next thing for a refund, as a job would.
func (s *sim) step(i int) {
	r := s.recs[i]
	next := Decide(r, s.c, r.Now)
	if wrong := stepBreaks(r, s.c, r.Now, next); len(wrong) > 0 {
		s.fail("Decide in %s: %v", r.State, wrong)
	}
	switch next.Do {
	case DoSend:
		s.claim(i, AttemptSend, next.Dispatch)
	case DoQuery:
		s.claim(i, AttemptQuery, next.Dispatch)
	case DoList:
		s.claim(i, AttemptList, next.Dispatch)
	case DoCase, DoSettle, DoNumber:
		s.enter(i, conclusion(next, r.Generation))
	case DoWait, DoDone:
	}
}

func (s *sim) claim(i int, kind AttemptKind, no int) {
	r, attempt, ok := claim(s.recs[i], kind, no, s.c, s.ch.now)
	if kind != AttemptSend && s.recs[i].State.Final() {
		r, attempt = ask(s.recs[i], no, s.c, s.ch.now)
		ok = true
	}
	if !ok {
		return
	}
	s.set(i, r)
	a, _ := r.Attempt(attempt)
	d, _ := r.Dispatch(no)
	call := &simCall{refund: i, attempt: attempt, kind: kind, number: d.Number, amount: r.Amount, plan: s.plan(kind)}
	left := s.draw("leaves", a.NotAfter.Sub(s.ch.now)-time.Millisecond)
	call.acts = s.ch.now.Add(left)
	if kind == AttemptSend {
		call.acts = call.acts.Add(s.draw("acts", s.c.Horizon.D()))
	}
	s.note("%s rf_%d %s %s%d#%d: %+v acts %s", s.ch.now.Format("15:04:05"), i+1, r.State, kind, no, attempt, call.plan, call.acts.Format("15:04:05.000"))
	s.ch.calls = append(s.ch.calls, call)
}

func (s *sim) draw(name string, limit time.Duration) time.Duration {
	if s.quiet || limit <= 0 {
		return 0
	}
	return time.Duration(rapid.Int64Range(0, int64(limit)/int64(time.Millisecond)).Draw(s.rt, name)) * time.Millisecond
}

// plan draws what will become of a call.
func (s *sim) plan(kind AttemptKind) simPlan {
	p := simPlan{does: "act", answers: true, sayID: true, sayMoney: true, keeps: true}
	if s.quiet {
		return p
	}
	yes := func(name string, percent int) bool { return rapid.IntRange(1, 100).Draw(s.rt, name) <= percent }
	p.answers = yes("answered", 60)
	p.sayID, p.sayMoney = yes("id", 80), yes("money", 80)
	if kind != AttemptSend {
		return p
	}
	p.does = rapid.SampledFrom([]string{"act", "act", "act", "act", "nothing", "nothing", "retry", "not-sent", "echo", "refuse", "new-number"}).Draw(s.rt, "does")
	p.holds, p.fails, p.keeps = yes("holds", 30), yes("fails", 30), yes("keeps", 50)
	if yes("wrong", 5) {
		p.wrong, p.sayMoney = 1, true
	}
	p.hides = s.draw("hides", s.c.asking().VisibilityLag.D())
	p.settles = s.draw("settles", 3*time.Minute)
	return p
}

// hear brings the answer of a call that has come back, whoever owns the refund now.
func (s *sim) hear(n int) {
	call := s.ch.calls[n]
	if !call.done || call.dead {
		return
	}
	call.dead = true
	if a, ok := s.recs[call.refund].Attempt(call.attempt); ok {
		s.enter(call.refund, FactOf(*a, call.answer))
	}
}

// told enters one of the channel's notices; it may come again.
func (s *sim) told(n int) {
	notice := s.ch.notices[n]
	for i, r := range s.recs {
		for _, d := range r.Dispatches {
			if d.Number == notice.number {
				f := notice.fact
				f.Dispatch = d.No
				s.enter(i, f)
			}
		}
	}
}

func (s *sim) takeOver(i int) {
	if r := s.recs[i]; r.State == Processing && !r.LeaseEndsAt.After(r.Now) {
		s.enter(i, Fact{Kind: LeaseEnd, Generation: r.Generation, Source: "sweeper", Actor: "system:sweeper"})
	}
}

// look acknowledges the case of a refund that has ended and is exposed to nothing.
func (s *sim) look(i int) {
	if r := s.recs[i]; r.State.Final() && r.Case != nil && !r.Exposed {
		r = personAcknowledges(r)
		s.set(i, r)
	}
}

// actions are the moves of the random phase.
func (s *sim) actions() map[string]func(*rapid.T) {
	which := func() int { return rapid.IntRange(0, 1).Draw(s.rt, "refund") }
	return map[string]func(*rapid.T){
		"step":  func(*rapid.T) { s.step(which()) },
		"again": func(*rapid.T) { s.step(which()) }, // most of the time a job runs
		"time": func(*rapid.T) {
			s.pass(rapid.SampledFrom([]time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second, 11 * time.Second, time.Minute, 20 * time.Minute}).Draw(s.rt, "time"))
		},
		"take over": func(*rapid.T) { s.takeOver(which()) },
		"hear": func(*rapid.T) {
			if len(s.ch.calls) > 0 {
				s.hear(rapid.IntRange(0, len(s.ch.calls)-1).Draw(s.rt, "call"))
			}
		},
		"crash": func(*rapid.T) {
			if len(s.ch.calls) > 0 {
				s.ch.calls[rapid.IntRange(0, len(s.ch.calls)-1).Draw(s.rt, "call")].dead = true
			}
		},
		"notice": func(*rapid.T) {
			if len(s.ch.notices) > 0 && s.c.Notices {
				s.told(rapid.IntRange(0, len(s.ch.notices)-1).Draw(s.rt, "notice"))
			}
		},
		"back": func(*rapid.T) {
			for _, r := range s.ch.made {
				if r.status == simMoved && rapid.IntRange(1, 8).Draw(s.rt, "bank") == 1 {
					s.ch.back(r)
				}
			}
		},
		"cancel": func(*rapid.T) {
			if i := which(); s.recs[i].State == Pending && s.recs[i].AskNo == 0 && rapid.IntRange(1, 10).Draw(s.rt, "wish") == 1 {
				s.enter(i, Fact{Kind: Withdrawn, Source: "cancel", Actor: "actor:shop"})
			}
		},
		"acknowledge": func(*rapid.T) { s.look(which()) },
		"":            func(*rapid.T) { s.watch() },
	}
}

// watch: never more than one movement for one refund, whatever fails.
func (s *sim) watch() {
	for i, r := range s.recs {
		if _, ever := s.ch.moved(r); ever > 1 {
			s.fail("rf_%d was paid %d times", i+1, ever)
		}
	}
}

// drain lets everything that is on its way arrive and every notice be told, and works on until nothing moves.
func (s *sim) drain() {
	s.quiet = true
	for range 4000 {
		idle := true
		s.pass(time.Second)
		for n := range s.ch.calls {
			s.hear(n)
		}
		for i := range s.recs {
			s.takeOver(i)
			before := s.recs[i].JournalSeq
			s.step(i)
			idle = idle && before == s.recs[i].JournalSeq && settledOrCased(s.recs[i])
		}
		if idle && !s.busy() {
			break
		}
		s.skip()
	}
	if s.c.Notices {
		for n := range s.ch.notices {
			s.told(n)
		}
	}
	s.watch()
}

func settledOrCased(r Record) bool { return (r.State.Final() && !r.Exposed) || r.Case != nil }

func (s *sim) busy() bool {
	pending := slices.ContainsFunc(s.ch.made, func(r *simRefund) bool { return r.status == simPending })
	return pending || slices.ContainsFunc(s.ch.calls, func(c *simCall) bool { return !c.done })
}

// skip jumps to the next time at which anything is due.
func (s *sim) skip() {
	next := time.Time{}
	for _, r := range s.recs {
		if step := Decide(r, s.c, r.Now); step.Do == DoWait {
			if next.IsZero() || step.Until.Before(next) {
				next = step.Until
			}
		} else if step.Do != DoDone {
			return
		}
	}
	if next.After(s.ch.now) && !s.busy() {
		s.pass(next.Sub(s.ch.now))
	}
}

// judge compares the books with the truth.
func (s *sim) judge() {
	for i, r := range s.recs {
		if !settledOrCased(r) {
			s.fail("rf_%d is left in %s, exposed=%v, without a case", i+1, r.State, r.Exposed)
		}
		booked := int64(0)
		for _, e := range r.Effects {
			if e.Status == EffectMoved {
				booked += e.Counted
			}
		}
		moved, _ := s.ch.moved(r)
		doubt := r.Exposed || (r.Case != nil && !r.State.Final())
		switch {
		case booked == moved:
		case doubt: // a person is looking, the amount is reserved or held
		case booked > moved && !s.c.Notices: // it came back, and this channel tells nobody
		default:
			s.fail("rf_%d: the channel moved %d, the books say %d in %s with case %v", i+1, moved, booked, r.State, reasonsOf(r.Case))
		}
	}
}

func TestTwoRefundsAgainstTheTruth(t *testing.T) {
	t.Parallel()
	for name, c := range classes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ends := map[State]int{}
			for range 4 { // four times the usual number of stories
				rapid.Check(t, func(rt *rapid.T) {
					s := newSim(rt, c)
					rt.Repeat(s.actions())
					s.drain()
					s.judge()
					for _, r := range s.recs {
						ends[r.State]++
					}
				})
			}
			t.Logf("refunds ended: %v", ends)
		})
	}
}
