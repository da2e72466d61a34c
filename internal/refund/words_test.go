package refund

import (
	"testing"
	"time"
)

// TestTheChannelCodeOfAFailureIsThatOfTheAnswerThatSaysSo: neither an absence nor a pause says why a refund has failed.
func TestTheChannelCodeOfAFailureIsThatOfTheAnswerThatSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  func(s *scenario)
		want Failure
	}{
		"a notice tells the end": {func(s *scenario) {
			s.answerWith(s.send(), Unknown)
			s.wait(time.Hour)
			s.enter(Fact{Kind: FailedFinal, Dispatch: 1, Code: "closed_account", Source: "notice"})
		}, Failure{Code: "channel-failed", ChannelCode: "closed_account"}},
		"a query tells the end": {func(s *scenario) {
			s.answerWith(s.send(), Unknown)
			s.wait(time.Hour)
			s.answer(s.query(1), Answer{Kind: FailedFinal, Code: "closed_account"})
		}, Failure{Code: "channel-failed", ChannelCode: "closed_account"}},
		"the end is known, and the send answers with a pause": {func(s *scenario) {
			send := s.send()
			s.enter(Fact{Kind: FailedFinal, Dispatch: 1, Source: "notice"})
			s.answer(send, Answer{Kind: Retryable, Code: "rate_limited"})
			s.wait(time.Hour)
		}, Failure{Code: "channel-failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScenario(t, ProfileKeyedQueryable)
			c.run(s)
			s.expect(name, StateFailed, false)
			if s.r.Failure != c.want {
				t.Errorf("failure %+v, want %+v", s.r.Failure, c.want)
			}
		})
	}
}

// TestACaseKeepsThePendingReasonThatOpenedIt: the refund still waits for the same thing.
func TestACaseKeepsThePendingReasonThatOpenedIt(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]PendingReason{"insufficient_balance": PendingLowBalance, "unauthorized": PendingCredentials,
		"rate_limited": PendingRateLimit} {
		s := newScenario(t, ProfileKeyedQueryable)
		s.c.Codes.LowBalance, s.c.Codes.Credentials = []string{"insufficient_balance"}, []string{"unauthorized"}
		s.answer(s.send(), Answer{Kind: Retryable, Code: code})
		if s.r.PendingReason != want {
			t.Errorf("%s: it waits for %q, want %q", code, s.r.PendingReason, want)
		}
		s.wait(25 * time.Hour)
		s.expectStep("it has waited for a day", StepOpenCase)
		s.conclude(Deadline, CaseDeadline)
		s.expect("a case", StatePending, false, CaseDeadline)
		if s.r.PendingReason != want {
			t.Errorf("%s: under its case it waits for %q, want %q", code, s.r.PendingReason, want)
		}
		if step := Decide(s.r, s.c, s.now()); step.Kind == StepWait && step.Why != "" && step.Why != want {
			t.Errorf("%s: the next look stores %q, want none or %q", code, step.Why, want)
		}
	}
	s := newScenario(t, ProfileKeyedQueryable) // never sent: the limiter stores the reason
	s.r.PendingReason = PendingBreaker
	s.wait(25 * time.Hour)
	s.conclude(Deadline, CaseDeadline)
	if s.r.PendingReason != PendingBreaker {
		t.Errorf("it waits for %q, want %q", s.r.PendingReason, PendingBreaker)
	}
}
