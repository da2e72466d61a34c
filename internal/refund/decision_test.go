package refund

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// Without a case no decision is possible, in any state.
func TestNoDecisionWithoutACase(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	for _, state := range States() {
		s.r.State = state
		for _, c := range Allowed(s.r, s.c, s.now()) {
			if c.Allowed || c.Why != ObstacleNoCase {
				t.Errorf("%s in %s: %+v", c.Action, state, c)
			}
		}
	}
	for _, c := range AllowedForPayment() {
		if c.Allowed != (c.Action == ActionWait || c.Action == ActionAcceptAsIs) {
			t.Errorf("payment: %+v", c)
		}
	}
}

// A decision waits until no request can be executed any more, and is void once the refund has changed.
func TestDecisionWaitsAndIsBound(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileBlind)
	s.answerWith(s.send(), Unknown)
	s.conclude(Deadline, CaseNoStep)
	from := s.r.Attempts[0].NotAfter.Add(s.c.Horizon.D())
	if got := Allowed(s.r, s.c, s.now())[0].From; !got.Equal(from) {
		t.Errorf("takes effect at %v, want %v", got, from)
	}
	d := s.decision(ActionConfirmNotDone)
	s.r.Now = from.Add(-time.Nanosecond)
	if _, err := ApplyDecision(s.r, d, s.c); !errors.Is(err, ErrTooEarly) || d.Due(s.r, s.c, s.now()) {
		t.Errorf("before the horizon: %v", err)
	}
	s.r.Now = from
	if _, err := ApplyDecision(s.r, d, s.c); err != nil {
		t.Errorf("at the horizon: %v", err)
	}
	for name, change := range map[string]func(*Decision){
		"a later fact":   func(d *Decision) { d.JournalSeq-- },
		"another case":   func(d *Decision) { d.CaseID = RID{15: 3} },
		"another excess": func(d *Decision) { d.Action, d.Excess = ActionAcceptAsIs, 1 },
	} {
		d := d
		change(&d)
		var p *Problem
		if _, err := ApplyDecision(s.r, d, s.c); !errors.As(err, &p) || p.Code != CodeDecisionVoid {
			t.Errorf("%s: %v, want void", name, err)
		}
	}
}

// A resend asks the channel before it sends; the answer decides.
func TestResendAsksFirst(t *testing.T) {
	t.Parallel()
	unsure := func(t *testing.T) *scenario {
		s := newScenario(t, ProfileKeyedQueryable)
		s.answerWith(s.send(), Unknown)
		s.wait(2 * time.Hour)
		s.conclude(Deadline, CaseDeadline)
		s.applyDecision(ActionResend)
		s.expectStep("the old number is asked about", StepQuery)
		if s.r.DispatchNo != 2 || !s.r.Dispatches[0].Overridden || !s.r.Dispatches[0].Retired {
			t.Fatalf("numbers %+v", s.r.Dispatches)
		}
		return s
	}
	t.Run("not found", func(t *testing.T) {
		t.Parallel()
		s := unsure(t)
		for s.r.AskNo != 0 {
			step := s.expectStep("asking goes on", StepQuery)
			s.answerWith(s.query(step.Dispatch), NotFound)
			s.r.Now = later(s.now(), Decide(s.r, s.c, s.now()).Until)
		}
		if step := s.expectStep("proven: now the next number is sent", StepSend); step.Dispatch != 2 {
			t.Errorf("sends %d", step.Dispatch)
		}
	})
	t.Run("the money had moved", func(t *testing.T) {
		t.Parallel()
		s := unsure(t)
		s.answer(s.query(1), Answer{Kind: Succeeded, ChannelRefundID: "ch_1"})
		s.expect("no send", StateSuccess, false)
		s.expectStep("nothing more", StepDone)
	})
	t.Run("the channel has it", func(t *testing.T) {
		t.Parallel()
		s := unsure(t)
		s.answerWith(s.query(1), Acknowledged)
		s.expect("the decision is void, nothing is sent", StateUnknown, true, CaseAcknowledgedAfterEnd)
	})
}

// C36: a proposal "not done", then the channel's success: the proposal is void and SUCCESS stays.
func TestStaleDecisionIsVoid(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "noticing")
	s.answerWith(s.send(), Unknown)
	s.wait(2 * time.Hour)
	s.conclude(Deadline, CaseDeadline)
	d := s.decision(ActionConfirmNotDone)
	if ch := s.notice(Succeeded, 1, "ch_1"); !ch.VoidProposals {
		t.Error("a fact voids proposals")
	}
	var p *Problem
	if _, err := ApplyDecision(s.r, d, s.c); !errors.As(err, &p) || p.Code != CodeDecisionVoid {
		t.Errorf("%v, want void", err)
	}
	s.expect("the channel's success stands", StateSuccess, false)
}

// C26: a person confirmed "not done", then the money proves to have moved, twice.
func TestMoneyMovedAfterAll(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "noticing")
	s.answerWith(s.send(), Unknown)
	s.wait(2 * time.Hour)
	s.conclude(Deadline, CaseDeadline)
	s.applyDecision(ActionConfirmNotDone)
	s.expect("decided", StateFailed, false)
	s.notice(Succeeded, 1, "ch_1")
	s.expect("booked at once", StateSuccess, false, CaseSuccessAfterEnd)
	s.notice(Succeeded, 1, "ch_2")
	s.expect("the second one too", StateSuccess, false, CaseSuccessAfterEnd, CaseMultipleEffects, CaseExcess)
	s.expectBalances("both are counted", 0, 2000, 0)
	s.applyDecision(ActionAcceptAsIs)
	s.expect("accepted", StateSuccess, false)
	if p := s.r.Payment; p.Excess != 500 || p.ExcessAccepted != 500 {
		t.Errorf("%+v", p)
	}
}

// A confirmation that was taken back can still prove true, and is booked then.
func TestMoneyMovedAfterRevocation(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "noticing")
	s.answerWith(s.send(), Unknown)
	s.wait(2 * time.Hour)
	s.conclude(Deadline, CaseDeadline)
	s.applyDecision(ActionConfirmSuccess)
	s.notice(FailedFinal, 1, "")
	s.applyDecision(ActionRevokeConfirmation)
	s.expect("taken back", StateReversed, false)
	s.expectBalances("refundable again", 0, 0, 0)
	s.c.Codes.LateFailure = false
	s.notice(Succeeded, 1, "ch_1")
	s.expect("the channel's success counts", StateSuccess, false, CaseSuccessAfterEnd)
}

// Decisions use only the transitions of the state table, so that the database allows each of them.
func TestDecisionsMakeKnownTransitions(t *testing.T) {
	t.Parallel()
	allowed := Transitions()
	for _, row := range decisionTable {
		row.transitions(func(from, to State) {
			if !slices.Contains(allowed, string(from)+">"+string(to)) {
				t.Errorf("%s makes %s>%s", row.id, from, to)
			}
		})
	}
}

func TestEvidenceOfADecision(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"ticket 4711": true, "1234567": false, "12345678": true, "   1234567   ": false, "ok\x00ok ok ok": false,
		strings.Repeat("é", MaxEvidence): true, strings.Repeat("é", MaxEvidence+1): false, "\xff\xff\xff\xff\xff\xff\xff\xff": false} {
		if ValidEvidence(text) != want {
			t.Errorf("%.20q: %v, want %v", text, !want, want)
		}
	}
}
