package refund

import (
	"testing"
	"time"
)

// Scenarios: one refund, its contract and a claim as the store makes it, without a database.

// scenario drives one refund in a test and fails on the first impossible step. noticeOf1000 is in simulation_findings_test.go.
type scenario struct {
	t *testing.T
	r Record
	c Contract
}

func newScenario(t *testing.T, class string) *scenario {
	t.Helper()
	c, ok := classes(t)[class]
	if !ok {
		t.Fatalf("no class %q", class)
	}
	return &scenario{t: t, r: newRecord(), c: c}
}

func (s *scenario) now() time.Time { return s.r.Now }

func (s *scenario) wait(d time.Duration) { s.r.Now = s.r.Now.Add(d) }

// send claims a send of the live number and returns its attempt.
func (s *scenario) send() int { s.t.Helper(); return s.claim(AttemptSend, s.r.DispatchNo) }

// query claims a question about a number.
func (s *scenario) query(no int) int {
	s.t.Helper()
	kind := AttemptQuery
	if !s.c.Query.Exists {
		kind = AttemptList
	}
	return s.claim(kind, no)
}

func (s *scenario) claim(kind AttemptKind, no int) int {
	s.t.Helper()
	next, attempt, ok := claim(s.r, kind, no, s.c, s.now())
	if !ok {
		s.t.Fatalf("no claim of %s in %s at %v", kind, s.r.State, s.now())
	}
	s.r = next
	return attempt
}

// answer enters the answer of an attempt.
func (s *scenario) answer(attempt int, a Answer) Change {
	s.t.Helper()
	at, ok := s.r.Attempt(attempt)
	if !ok {
		s.t.Fatalf("no attempt %d", attempt)
	}
	return s.enter(FactOf(*at, a))
}

func (s *scenario) answerWith(attempt int, kind FactKind) Change {
	s.t.Helper()
	return s.answer(attempt, Answer{Kind: kind})
}

// notice enters a notice.
func (s *scenario) notice(kind FactKind, dispatch int, id string) Change {
	s.t.Helper()
	return s.enter(Fact{Kind: kind, Dispatch: dispatch, ChannelRefundID: id, Source: "notice", Actor: "system:notices"})
}

// conclude enters a conclusion under the current generation.
func (s *scenario) conclude(kind FactKind, reason CaseReason) Change {
	s.t.Helper()
	return s.enter(Fact{Kind: kind, Generation: s.r.Generation, Reason: reason, Source: "sweeper", Actor: "system:sweeper"})
}

func (s *scenario) enter(f Fact) Change {
	s.t.Helper()
	ch, err := Apply(s.r, f, s.c)
	if err != nil {
		s.t.Fatalf("%s in %s: %v", f.Kind, s.r.State, err)
	}
	for _, msg := range broken(s.r, ch) {
		s.t.Errorf("%s in %s: %s", f.Kind, s.r.State, msg)
	}
	s.r = ch.After
	return ch
}

// expect checks state, exposure and the reasons of the case.
func (s *scenario) expect(why string, state State, exposed bool, reasons ...CaseReason) {
	s.t.Helper()
	if s.r.State != state || s.r.Exposed != exposed || !sameReasons(s.r.Case, reasons) {
		s.t.Errorf("%s: got %s exposed=%v case=%v, want %s exposed=%v case=%v", why, s.r.State, s.r.Exposed, reasonsOf(s.r.Case), state, exposed, reasons)
	}
}

// expectStep checks the present step of Decide.
func (s *scenario) expectStep(why string, want StepKind) Step {
	s.t.Helper()
	got := Decide(s.r, s.c, s.now())
	if got.Kind != want {
		s.t.Errorf("%s: next step is %+v, want %s", why, got, want)
	}
	return got
}

func (s *scenario) expectBalances(why string, reserved, refunded, held int64) {
	s.t.Helper()
	if p := s.r.Payment; p.Reserved != reserved || p.Refunded != refunded || p.Held != held {
		s.t.Errorf("%s: reserved %d refunded %d held %d, want %d %d %d", why, p.Reserved, p.Refunded, p.Held, reserved, refunded, held)
	}
}

func reasonsOf(c *Case) []CaseReason {
	if c == nil {
		return nil
	}
	return c.Reasons
}

func sameReasons(c *Case, want []CaseReason) bool {
	got := reasonsOf(c)
	if len(got) != len(want) {
		return false
	}
	for _, w := range want {
		if !c.Has(w) {
			return false
		}
	}
	return true
}

func (s *scenario) confirmNotDone() { s.r = afterNotDone(s.r) }

func (s *scenario) resend() { s.r = afterResend(s.r) }

func (s *scenario) revokeConfirmation() { s.r = afterRevocation(s.r) }

// confirmSuccess is that decision: an effect without the channel's id. The case is closed.
func (s *scenario) confirmSuccess() {
	s.t.Helper()
	s.enter(confirmedSuccess(s.r))
	s.r.Case, s.r.NextActionAt = nil, time.Time{}
}

// loseAnswer drives a refund to UNKNOWN: the first send's answer is lost.
func (s *scenario) loseAnswer() int {
	s.t.Helper()
	send := s.send()
	s.answerWith(send, Unknown)
	s.expect("an answer was lost", StateUnknown, true)
	return send
}

// applyDecision waits for the horizon and applies a decision.
func (s *scenario) applyDecision(a Action) Change {
	s.t.Helper()
	s.r.Now = later(s.now(), s.r.DecisionFrom(s.c))
	ch, err := ApplyDecision(s.r, s.decision(a), s.c)
	if err != nil {
		s.t.Fatalf("%s in %s: %v", a, s.r.State, err)
	}
	for _, msg := range broken(s.r, ch) {
		s.t.Errorf("%s in %s: %s", a, s.r.State, msg)
	}
	s.r = ch.After
	return ch
}

func (s *scenario) decision(a Action) Decision {
	d := Decision{ID: RID{15: 9}, Action: a, JournalSeq: s.r.JournalSeq, Excess: s.r.Payment.Excess, Evidence: "ticket 4711", Maker: "ann", Checker: "bob"}
	if s.r.Case != nil {
		d.CaseID = s.r.Case.ID
	}
	return d
}
