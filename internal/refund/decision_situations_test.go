package refund

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// situation is a record with a case, and the decisions that it allows. A decision that is not listed as refused is allowed.
type situation struct {
	name    string
	class   string
	build   func(*scenario)
	refused map[Action]Obstacle // the rest is allowed
	after   map[Action]outcome  // the result of each allowed decision; wait changes nothing
}

type outcome struct {
	state                    State
	exposed                  bool
	reasons                  []CaseReason // that stay open
	reserved, refunded, held int64
	ask                      int
	excessAllowed            int64
}

// refusedFor adds one obstacle for several decisions.
func refusedFor(why Obstacle, more map[Action]Obstacle, actions ...Action) map[Action]Obstacle {
	out := map[Action]Obstacle{}
	for a, o := range more {
		out[a] = o
	}
	for _, a := range actions {
		out[a] = why
	}
	return out
}

var (
	notByPerson = map[Action]Obstacle{ActionRevokeConfirmation: ObstacleNotByPerson}
	openBlind   = map[Action]Obstacle{ActionRevokeConfirmation: ObstacleNotByPerson, ActionAcceptAsIs: ObstacleNotEnded}
)

var (
	paidOnce     = outcome{state: StateSuccess, refunded: 1000}
	hasFailed    = outcome{state: StateFailed}
	willBeResent = outcome{state: StatePending, reserved: 1000, ask: 1}
)

func situations() []situation { return append(openSituations(), endedSituations()...) }

// openSituations are refunds that have not ended.
func openSituations() []situation {
	paid, failed, resent := paidOnce, hasFailed, willBeResent
	return []situation{
		{name: "UNKNOWN, nothing can be asked", class: ProfileBlind,
			build:   func(s *scenario) { s.answerWith(s.send(), Unknown); s.conclude(Deadline, CaseNoStep) },
			refused: refusedFor(ObstacleCannotAsk, openBlind, ActionResend),
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionConfirmNotDone: failed}},
		{name: "UNKNOWN past its deadline", class: ProfileKeyedQueryable,
			build: func(s *scenario) {
				s.answerWith(s.send(), Unknown)
				s.wait(2 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
			},
			refused: openBlind,
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionConfirmNotDone: failed, ActionResend: resent}},
		{name: "ACCEPTED past its deadline", class: ProfileKeyedQueryable,
			build: func(s *scenario) {
				s.answerWith(s.send(), Acknowledged)
				s.wait(8 * 24 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
			},
			refused: refusedFor(ObstacleAcknowledged, openBlind, ActionResend),
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionConfirmNotDone: failed}},
		{name: "PENDING past its deadline, nothing exposed", class: ProfileBlind,
			build: func(s *scenario) {
				s.answerWith(s.send(), Retryable)
				s.wait(25 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
			},
			refused: openBlind,
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionConfirmNotDone: failed, ActionResend: {state: StatePending, reserved: 1000}}},
		{name: "PENDING, an ask open", class: ProfileKeyedQueryable,
			build: func(s *scenario) {
				s.answerWith(s.send(), Unknown)
				s.wait(2 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
				s.applyDecision(ActionResend)
				s.wait(25 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
			},
			refused: refusedFor(ObstacleAskOpen, openBlind, ActionResend),
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionConfirmNotDone: failed}},
		{name: "PROCESSING, an older number acknowledged", class: ProfileKeyedQueryable,
			build: func(s *scenario) {
				s.answerWith(s.send(), RefusedNewNumber)
				s.send()
				s.notice(Acknowledged, 1, "")
			},
			refused: refusedFor(ObstacleInFlight, nil, ActionConfirmSuccess, ActionConfirmNotDone, ActionResend, ActionAcceptAsIs, ActionRevokeConfirmation)},
	}
}

// endedSituations are refunds that have ended, or whose number has.
func endedSituations() []situation {
	paid, failed := paidOnce, hasFailed
	return []situation{
		{name: "FAILED, then acknowledged by the channel", class: ProfileKeyedQueryable,
			build:   func(s *scenario) { s.answerWith(s.send(), RefusedClean); s.notice(Acknowledged, 1, "") },
			refused: refusedFor(ObstacleEnded, notByPerson, ActionConfirmNotDone, ActionResend),
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionAcceptAsIs: failed}},
		{name: "SUCCESS after it was reported as not done", class: ProfileKeyedQueryable,
			build: func(s *scenario) { s.answerWith(s.send(), RefusedClean); s.notice(Succeeded, 1, "ch_1") },
			refused: refusedFor(ObstacleEnded, map[Action]Obstacle{ActionRevokeConfirmation: ObstacleNotByPerson,
				ActionConfirmSuccess: ObstacleNothingExposed}, ActionConfirmNotDone, ActionResend),
			after: map[Action]outcome{ActionAcceptAsIs: paid}},
		{name: "SUCCESS, another number may still pay", class: ProfileKeyedQueryable,
			build: func(s *scenario) {
				s.answerWith(s.send(), RefusedNewNumber)
				s.answerWith(s.send(), Succeeded)
				s.notice(Acknowledged, 1, "")
			},
			refused: refusedFor(ObstacleEnded, notByPerson, ActionConfirmNotDone, ActionResend),
			after: map[Action]outcome{ActionAcceptAsIs: {state: StateSuccess, refunded: 1000, excessAllowed: 0},
				ActionConfirmSuccess: {state: StateSuccess, refunded: 2000, reasons: []CaseReason{CaseExcess}}}},
		{name: "SUCCESS twice, more than was captured", class: ProfileKeyedQueryable,
			build: func(s *scenario) {
				s.answerWith(s.send(), RefusedNewNumber)
				s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "ch_2"})
				s.notice(Succeeded, 1, "ch_1")
			},
			refused: refusedFor(ObstacleEnded, map[Action]Obstacle{ActionRevokeConfirmation: ObstacleNotByPerson,
				ActionConfirmSuccess: ObstacleNothingExposed}, ActionConfirmNotDone, ActionResend),
			after: map[Action]outcome{ActionAcceptAsIs: {state: StateSuccess, refunded: 2000, excessAllowed: 500}}},
		{name: "SUCCESS by a person, then ended negatively", class: "noticing",
			build: func(s *scenario) {
				s.answerWith(s.send(), Unknown)
				s.wait(2 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
				s.applyDecision(ActionConfirmSuccess)
				s.notice(FailedFinal, 1, "")
			},
			refused: refusedFor(ObstacleEnded, map[Action]Obstacle{ActionConfirmSuccess: ObstacleNothingExposed}, ActionConfirmNotDone, ActionResend),
			after:   map[Action]outcome{ActionAcceptAsIs: paid, ActionRevokeConfirmation: {state: StateReversed}}},
		{name: "UNKNOWN, the number's end known, a send unanswered", class: ProfileBlind,
			build: func(s *scenario) {
				s.answerWith(s.send(), Unknown)
				s.conclude(Deadline, CaseNoStep)
				s.notice(FailedFinal, 1, "")
			},
			refused: refusedFor(ObstacleFinalNegative, refusedFor(ObstacleCannotAsk, openBlind, ActionResend), ActionConfirmSuccess),
			after:   map[Action]outcome{}}, // its end comes with time
	}
}

// Every decision in every situation: an allowed one has the result of rule R29 of docs/rules.md, another one is refused with
// its obstacle.
func TestDecisionsInEveryState(t *testing.T) {
	t.Parallel()
	for _, at := range situations() {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			for _, a := range Actions() {
				s := newScenario(t, at.class)
				at.build(s)
				choices := Allowed(s.r, s.c, s.now())
				i := slices.IndexFunc(choices, func(c Choice) bool { return c.Action == a })
				if i < 0 || len(choices) != len(Actions()) {
					t.Fatalf("choices %+v", choices)
				}
				why, refused := at.refused[a]
				if got := choices[i]; got.Allowed == refused || got.Why != why {
					t.Errorf("%s: allowed=%v because of %q, want %q", a, got.Allowed, got.Why, why)
				}
				if refused {
					s.r.Now = later(s.now(), s.r.DecisionFrom(s.c))
					_, err := ApplyDecision(s.r, s.decision(a), s.c)
					var no *NotAllowed
					if !errors.As(err, &no) || no.Why != why || why.Text() == "" {
						t.Errorf("%s: error %v, want %s with a text", a, err, why)
					}
					continue
				}
				at.check(t, s, a)
			}
		})
	}
}

func (at situation) check(t *testing.T, s *scenario, a Action) {
	t.Helper()
	before := s.r
	want, ok := at.after[a]
	if !ok && a != ActionWait {
		return
	}
	ch := s.applyDecision(a)
	if a == ActionWait {
		if len(ch.Steps) != 0 || s.r.Case == nil || s.r.JournalSeq != before.JournalSeq {
			t.Errorf("wait changes nothing: %+v", ch.Steps)
		}
		return
	}
	s.expect(string(a), want.state, want.exposed, want.reasons...)
	s.expectBalances(string(a), want.reserved, want.refunded, want.held)
	if s.r.AskNo != want.ask || s.r.Payment.ExcessAccepted != want.excessAllowed {
		t.Errorf("%s: ask %d, excess accepted %d, want %d and %d", a, s.r.AskNo, s.r.Payment.ExcessAccepted, want.ask, want.excessAllowed)
	}
	if len(ch.Steps) != 1 || !strings.Contains(ch.Steps[0].Entry.Data, `"checker":"bob"`) || ch.Steps[0].Entry.Source != "decision" ||
		ch.Steps[0].Entry.FactKey != nil {
		t.Errorf("%s: the journal must name the checker, and the row is no fact of the channel: %+v", a, ch.Steps)
	}
}
