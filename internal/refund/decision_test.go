package refund

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// situation is a record under a case, with the decisions that it allows. What is not named is refused with the obstacle given.
type situation struct {
	name    string
	class   string
	build   func(*story)
	refused map[Action]Obstacle // the rest is allowed
	after   map[Action]outcome  // what each allowed decision leads to; wait changes nothing
}

type outcome struct {
	state                    State
	exposed                  bool
	reasons                  []CaseReason // that stay
	reserved, refunded, held int64
	ask                      int
	excessAllowed            int64
}

// refusedAll names one obstacle for several decisions.
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

// openSituations are refunds that have not come to their end.
func openSituations() []situation {
	paid, failed, resent := paidOnce, hasFailed, willBeResent
	return []situation{
		{name: "UNKNOWN, nothing can be asked", class: ProfileBlind,
			build:   func(s *story) { s.says(s.send(), Unknown); s.conclude(Deadline, CaseNoStep) },
			refused: refusedFor(ObstacleCannotAsk, openBlind, ActionResend),
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionConfirmNotDone: failed}},
		{name: "UNKNOWN past its deadline", class: ProfileKeyedQueryable,
			build: func(s *story) {
				s.says(s.send(), Unknown)
				s.after(2 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
			},
			refused: openBlind,
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionConfirmNotDone: failed, ActionResend: resent}},
		{name: "ACCEPTED past its deadline", class: ProfileKeyedQueryable,
			build: func(s *story) {
				s.says(s.send(), Acknowledged)
				s.after(8 * 24 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
			},
			refused: refusedFor(ObstacleAcknowledged, openBlind, ActionResend),
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionConfirmNotDone: failed}},
		{name: "PENDING past its deadline, nothing exposed", class: ProfileBlind,
			build: func(s *story) {
				s.says(s.send(), Retryable)
				s.after(25 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
			},
			refused: openBlind,
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionConfirmNotDone: failed, ActionResend: {state: StatePending, reserved: 1000}}},
		{name: "PENDING, an ask open", class: ProfileKeyedQueryable,
			build: func(s *story) {
				s.says(s.send(), Unknown)
				s.after(2 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
				s.decides(ActionResend)
				s.after(25 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
			},
			refused: refusedFor(ObstacleAskOpen, openBlind, ActionResend),
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionConfirmNotDone: failed}},
		{name: "PROCESSING, an older number alive", class: ProfileKeyedQueryable,
			build: func(s *story) {
				s.says(s.send(), RefusedNewNumber)
				s.send()
				s.notice(Acknowledged, 1, "")
			},
			refused: refusedFor(ObstacleInFlight, nil, ActionConfirmSuccess, ActionConfirmNotDone, ActionResend, ActionAcceptAsIs, ActionRevokeConfirmation)},
	}
}

// endedSituations are refunds that had told an end, or whose number had.
func endedSituations() []situation {
	paid, failed := paidOnce, hasFailed
	return []situation{
		{name: "FAILED, then acknowledged by the channel", class: ProfileKeyedQueryable,
			build:   func(s *story) { s.says(s.send(), RefusedClean); s.notice(Acknowledged, 1, "") },
			refused: refusedFor(ObstacleEnded, notByPerson, ActionConfirmNotDone, ActionResend),
			after:   map[Action]outcome{ActionConfirmSuccess: paid, ActionAcceptAsIs: failed}},
		{name: "SUCCESS against what was told", class: ProfileKeyedQueryable,
			build:   func(s *story) { s.says(s.send(), RefusedClean); s.notice(Succeeded, 1, "ch_1") },
			refused: refusedFor(ObstacleEnded, map[Action]Obstacle{ActionRevokeConfirmation: ObstacleNotByPerson, ActionConfirmSuccess: ObstacleNothingExposed}, ActionConfirmNotDone, ActionResend),
			after:   map[Action]outcome{ActionAcceptAsIs: paid}},
		{name: "SUCCESS, another number may still pay", class: ProfileKeyedQueryable,
			build: func(s *story) {
				s.says(s.send(), RefusedNewNumber)
				s.says(s.send(), Succeeded)
				s.notice(Acknowledged, 1, "")
			},
			refused: refusedFor(ObstacleEnded, notByPerson, ActionConfirmNotDone, ActionResend),
			after: map[Action]outcome{ActionAcceptAsIs: {state: StateSuccess, refunded: 1000, excessAllowed: 0},
				ActionConfirmSuccess: {state: StateSuccess, refunded: 2000, reasons: []CaseReason{CaseExcess}}}},
		{name: "SUCCESS twice, more than was captured", class: ProfileKeyedQueryable,
			build: func(s *story) {
				s.says(s.send(), RefusedNewNumber)
				s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "ch_2"})
				s.notice(Succeeded, 1, "ch_1")
			},
			refused: refusedFor(ObstacleEnded, map[Action]Obstacle{ActionRevokeConfirmation: ObstacleNotByPerson, ActionConfirmSuccess: ObstacleNothingExposed}, ActionConfirmNotDone, ActionResend),
			after:   map[Action]outcome{ActionAcceptAsIs: {state: StateSuccess, refunded: 2000, excessAllowed: 500}}},
		{name: "SUCCESS by a person, then ended negative", class: "noticing",
			build: func(s *story) {
				s.says(s.send(), Unknown)
				s.after(2 * time.Hour)
				s.conclude(Deadline, CaseDeadline)
				s.decides(ActionConfirmSuccess)
				s.notice(FailedFinal, 1, "")
			},
			refused: refusedFor(ObstacleEnded, map[Action]Obstacle{ActionConfirmSuccess: ObstacleNothingExposed}, ActionConfirmNotDone, ActionResend),
			after:   map[Action]outcome{ActionAcceptAsIs: paid, ActionRevokeConfirmation: {state: StateReversed}}},
		{name: "UNKNOWN, the number's end known, a send open", class: ProfileBlind,
			build: func(s *story) {
				s.says(s.send(), Unknown)
				s.conclude(Deadline, CaseNoStep)
				s.notice(FailedFinal, 1, "")
			},
			refused: refusedFor(ObstacleFinalNegative, refusedFor(ObstacleCannotAsk, openBlind, ActionResend), ActionConfirmSuccess),
			after:   map[Action]outcome{}}, // its end comes with time
	}
}

// decides lets the horizon pass and makes a decision take effect.
func (s *story) decides(a Action) Change {
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

func (s *story) decision(a Action) Decision {
	d := Decision{ID: RID{15: 9}, Action: a, JournalSeq: s.r.JournalSeq, Excess: s.r.Payment.Excess, Evidence: "ticket 4711", Maker: "ann", Checker: "bob"}
	if s.r.Case != nil {
		d.CaseID = s.r.Case.ID
	}
	return d
}

// Every decision in every situation: the possible ones lead where rule R29 of docs/rules.md says, the others are refused with their reason
// and nothing else.
func TestDecisionsInEveryState(t *testing.T) {
	t.Parallel()
	for _, at := range situations() {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			for _, a := range Actions() {
				s := tell(t, at.class)
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

func (at situation) check(t *testing.T, s *story, a Action) {
	t.Helper()
	before := s.r
	want, ok := at.after[a]
	if !ok && a != ActionWait {
		return
	}
	ch := s.decides(a)
	if a == ActionWait {
		if len(ch.Steps) != 0 || s.r.Case == nil || s.r.JournalSeq != before.JournalSeq {
			t.Errorf("wait changes nothing: %+v", ch.Steps)
		}
		return
	}
	s.wants(string(a), want.state, want.exposed, want.reasons...)
	s.balances(string(a), want.reserved, want.refunded, want.held)
	if s.r.AskNo != want.ask || s.r.Payment.ExcessAccepted != want.excessAllowed {
		t.Errorf("%s: ask %d, excess accepted %d, want %d and %d", a, s.r.AskNo, s.r.Payment.ExcessAccepted, want.ask, want.excessAllowed)
	}
	if len(ch.Steps) != 1 || !strings.Contains(ch.Steps[0].Entry.Data, `"checker":"bob"`) || ch.Steps[0].Entry.Source != "decision" || ch.Steps[0].Entry.FactKey != nil {
		t.Errorf("%s: the journal must tell who decided, and never as the channel's word: %+v", a, ch.Steps)
	}
}

// Without a case there is nothing to decide, in any state.
func TestNoDecisionWithoutACase(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileKeyedQueryable)
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

// A decision waits until nothing sent can act any more, and is void once anything has happened.
func TestDecisionWaitsAndIsBound(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileBlind)
	s.says(s.send(), Unknown)
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

// A resend asks before it sends; the answer decides.
func TestResendAsksFirst(t *testing.T) {
	t.Parallel()
	unsure := func(t *testing.T) *story {
		s := tell(t, ProfileKeyedQueryable)
		s.says(s.send(), Unknown)
		s.after(2 * time.Hour)
		s.conclude(Deadline, CaseDeadline)
		s.decides(ActionResend)
		s.next("the old number is asked about", StepQuery)
		if s.r.DispatchNo != 2 || !s.r.Dispatches[0].Overridden || !s.r.Dispatches[0].Retired {
			t.Fatalf("numbers %+v", s.r.Dispatches)
		}
		return s
	}
	t.Run("not found", func(t *testing.T) {
		t.Parallel()
		s := unsure(t)
		for s.r.AskNo != 0 {
			step := s.next("asking goes on", StepQuery)
			s.says(s.query(step.Dispatch), NotFound)
			s.r.Now = later(s.now(), Decide(s.r, s.c, s.now()).Until)
		}
		if step := s.next("proven: now the next number is sent", StepSend); step.Dispatch != 2 {
			t.Errorf("sends %d", step.Dispatch)
		}
	})
	t.Run("it had moved", func(t *testing.T) {
		t.Parallel()
		s := unsure(t)
		s.answer(s.query(1), Answer{Kind: Succeeded, ChannelRefundID: "ch_1"})
		s.wants("no send", StateSuccess, false)
		s.next("nothing more", StepDone)
	})
	t.Run("the channel has it", func(t *testing.T) {
		t.Parallel()
		s := unsure(t)
		s.says(s.query(1), Acknowledged)
		s.wants("the decree is void, nothing is sent", StateUnknown, true, CaseAcknowledgedAfterEnd)
	})
}

// C36: a proposal "not done", then the channel's success: the proposal is void and SUCCESS stays.
func TestStaleDecisionIsVoid(t *testing.T) {
	t.Parallel()
	s := tell(t, "noticing")
	s.says(s.send(), Unknown)
	s.after(2 * time.Hour)
	s.conclude(Deadline, CaseDeadline)
	d := s.decision(ActionConfirmNotDone)
	if ch := s.notice(Succeeded, 1, "ch_1"); !ch.VoidProposals {
		t.Error("a fact voids proposals")
	}
	var p *Problem
	if _, err := ApplyDecision(s.r, d, s.c); !errors.As(err, &p) || p.Code != CodeDecisionVoid {
		t.Errorf("%v, want void", err)
	}
	s.wants("the channel's word stands", StateSuccess, false)
}

// C26: a person confirmed "not done", then the money proves to have moved, and moved twice.
func TestMoneyMovedAfterAll(t *testing.T) {
	t.Parallel()
	s := tell(t, "noticing")
	s.says(s.send(), Unknown)
	s.after(2 * time.Hour)
	s.conclude(Deadline, CaseDeadline)
	s.decides(ActionConfirmNotDone)
	s.wants("decided", StateFailed, false)
	s.notice(Succeeded, 1, "ch_1")
	s.wants("booked at once, never hidden", StateSuccess, false, CaseSuccessAfterEnd)
	s.notice(Succeeded, 1, "ch_2")
	s.wants("a second one too", StateSuccess, false, CaseSuccessAfterEnd, CaseMultipleEffects, CaseExcess)
	s.balances("both count", 0, 2000, 0)
	s.decides(ActionAcceptAsIs)
	s.wants("accepted", StateSuccess, false)
	if p := s.r.Payment; p.Excess != 500 || p.ExcessAccepted != 500 {
		t.Errorf("%+v", p)
	}
}

// A success that a person took back can still prove true, and is booked then.
func TestTakenBackAndMovedAfterAll(t *testing.T) {
	t.Parallel()
	s := tell(t, "noticing")
	s.says(s.send(), Unknown)
	s.after(2 * time.Hour)
	s.conclude(Deadline, CaseDeadline)
	s.decides(ActionConfirmSuccess)
	s.notice(FailedFinal, 1, "")
	s.decides(ActionRevokeConfirmation)
	s.wants("taken back", StateReversed, false)
	s.balances("refundable again", 0, 0, 0)
	s.c.Codes.LateFailure = false
	s.notice(Succeeded, 1, "ch_1")
	s.wants("the channel's word", StateSuccess, false, CaseSuccessAfterEnd)
}

// People move refunds only along the transitions that the state table has, so the database allows each of them.
func TestDecisionsMakeKnownTransitions(t *testing.T) {
	t.Parallel()
	allowed := Transitions()
	for _, w := range decisionTable {
		w.transitions(func(from, to State) {
			if !slices.Contains(allowed, string(from)+">"+string(to)) {
				t.Errorf("%s makes %s>%s", w.id, from, to)
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
