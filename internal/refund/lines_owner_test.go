package refund

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// equalAmounts makes both refunds of the payment ask for the same amount.
func (k *paymentScenario) equalAmounts(captured int64) {
	k.f.Records[1].Amount = k.f.Records[0].Amount
	k.f.Payment.Captured, k.f.Payment.Reserved = captured, 2*k.f.Records[0].Amount
	for i := range k.f.Records {
		k.f.Records[i].Payment = k.f.Payment
	}
}

// expectCase fails unless the refund's case has exactly these reasons.
func (k *paymentScenario) expectCase(why string, i int, reasons ...CaseReason) {
	k.t.Helper()
	if r := k.f.Records[i]; !sameReasons(r.Case, reasons) {
		k.t.Errorf("%s: refund %d has case %v, want %v", why, i, reasonsOf(r.Case), reasons)
	}
}

// decide makes a decision take effect.
func (k *paymentScenario) decide(i int, d Decision) error {
	k.t.Helper()
	r := k.f.full(i)
	r.Now = later(r.Now, r.TakesEffectFrom(k.f.Contract))
	made := (&scenario{t: k.t, r: r, c: k.f.Contract}).decision(d.Action)
	made.EffectID, made.BothHappened = d.EffectID, d.BothHappened
	ch, err := ApplyDecision(r, made, k.f.Contract)
	if err == nil {
		k.f.Now = r.Now
		k.absorb(ch)
	}
	return err
}

func (k *paymentScenario) mustDecide(i int, d Decision) {
	k.t.Helper()
	if err := k.decide(i, d); err != nil {
		k.t.Fatalf("%s: %v", d.Action, err)
	}
}

// lineID returns the id of the stored line with a channel refund id.
func (k *paymentScenario) lineID(id string) RID {
	k.t.Helper()
	for _, e := range k.f.Lines {
		if e.ChannelRefundID == id && e.Status != EffectDropped {
			return e.ID
		}
	}
	k.t.Fatalf("no line %s in %+v", id, k.f.Lines)
	return RID{}
}

// askUntilAbsent asks about the live number as often as the contract wants, late enough, and finds nothing.
func (k *paymentScenario) askUntilAbsent(i int) {
	k.change(i, func(s *scenario) {
		s.r.LeaseEndsAt = time.Time{}
		s.wait(time.Minute)
		s.answerWith(s.query(1), NotFound)
	})
}

// A line of the refund's amount that no effect explains blocks a repeat: the absence of the number proves nothing, the machine does not
// adopt the line, and only a person's answer lets the refund continue.
func TestAnUnexplainedLineBlocksARepeat(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.f.Payment.Captured = 2000
	k.loseAnswer(0)
	k.line("re_9", 400, true)
	for range 3 {
		k.askUntilAbsent(0)
		k.settle()
	}
	k.expect("nothing is proven, nothing adopted", EffectHeld, 0, 0, 0)
	if r := k.f.full(0); r.State != StateUnknown || !r.Exposed || Decide(r, k.f.Contract, k.f.Now).Kind == StepSend {
		t.Errorf("%s exposed=%v, next %+v", r.State, r.Exposed, Decide(r, k.f.Contract, k.f.Now))
	}
	k.mustDecide(0, Decision{Action: ActionAcceptAsIs})
	k.settle()
	k.expect("somebody else's", EffectMoved, 400, 0)
	k.expectCase("answered", 0)
	if r := k.f.full(0); r.State != StatePending || Decide(r, k.f.Contract, k.f.Now).Kind != StepSend {
		t.Errorf("%s, next %+v", r.State, Decide(r, k.f.Contract, k.f.Now))
	}
}

// The line may come after the absence was proven: exposure has ended, and the next send waits for a person all the same.
func TestALineAfterAProvenAbsenceStopsTheNextSend(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.loseAnswer(0)
	k.askUntilAbsent(0)
	k.line("re_9", 400, true)
	k.expect("held", EffectHeld, 0, 0, 0)
	if r := k.f.full(0); r.State != StatePending || Decide(r, k.f.Contract, k.f.Now).Kind == StepSend {
		t.Errorf("%s, next %+v", r.State, Decide(r, k.f.Contract, k.f.Now))
	}
	k.mustDecide(0, Decision{Action: ActionConfirmSuccess, EffectID: k.lineID("re_9")})
	if r := k.f.Records[0]; r.State != StateSuccess || len(r.Effects) != 1 || r.Effects[0].DispatchNo != 1 || k.f.Payment.Refunded != 400 {
		t.Errorf("%s, effects %+v, payment %+v", r.State, r.Effects, k.f.Payment)
	}
}

// A person may answer about a line in each open state, an open ask included. The line becomes that of a number that was sent, never of
// the next one.
func TestALineIsNeverAttachedToANumberThatWasNotSent(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.loseAnswer(0)
	k.change(0, func(s *scenario) {
		s.r.Case = &Case{Reasons: []CaseReason{CaseDeadline}}
		s.applyDecision(ActionResend)
		s.expect("asks about number 1 first", StatePending, false)
	})
	k.line("re_9", 400, true)
	k.expect("number 1 may have made it", EffectHeld, 0, 0, 0)
	k.mustDecide(0, Decision{Action: ActionConfirmSuccess, EffectID: k.lineID("re_9")})
	if r := k.f.Records[0]; r.State != StateSuccess || r.Effects[0].DispatchNo != 1 || r.AskNo != 0 {
		t.Errorf("%s, ask %d, effects %+v", r.State, r.AskNo, r.Effects)
	}
}

// Who may own a line. A refund whose sends were all refused cleanly owns none, nor does one that the channel has ended, even if a decision
// had closed it before.
func TestWhoMayOwnALine(t *testing.T) {
	t.Parallel()
	line := ListedEffect{ChannelRefundID: "re_9", Status: Succeeded, Amount: 400, Currency: "USD"}
	for name, tt := range map[string]struct {
		do   func(k *paymentScenario)
		line ListedEffect
		want EffectStatus
	}{
		"not sent":         {do: func(*paymentScenario) {}, want: EffectMoved},
		"exposed":          {do: func(k *paymentScenario) { k.loseAnswer(0) }, want: EffectHeld},
		"another amount":   {do: func(k *paymentScenario) { k.loseAnswer(0); k.confirmNotDone(0) }, line: ListedEffect{ChannelRefundID: "re_9", Status: Succeeded, Amount: 401}, want: EffectMoved},
		"another currency": {do: func(k *paymentScenario) { k.loseAnswer(0); k.confirmNotDone(0) }, line: ListedEffect{ChannelRefundID: "re_9", Status: Succeeded, Amount: 400, Currency: "EUR"}, want: EffectMoved},
		"refused cleanly": {do: func(k *paymentScenario) {
			k.change(0, func(s *scenario) { s.answerWith(s.send(), RefusedClean) })
		}, want: EffectMoved},
		"closed by a decision": {do: func(k *paymentScenario) { k.loseAnswer(0); k.confirmNotDone(0) }, want: EffectHeld},
		"closed by absence": {do: func(k *paymentScenario) {
			k.change(0, func(s *scenario) { s.answerWith(s.send(), RefusedEcho) })
			k.askUntilAbsent(0)
		}, want: EffectHeld},
		"closed by a decision, then ended by the channel": {do: func(k *paymentScenario) {
			k.loseAnswer(0)
			k.confirmNotDone(0)
			k.change(0, func(s *scenario) { s.notice(FailedFinal, 1, "") })
		}, want: EffectMoved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newPaymentScenario(t)
			tt.do(k)
			l := line
			if tt.line.ChannelRefundID != "" {
				l = tt.line
			}
			ch, changed, err := k.f.DecideLine(l, true)
			if err != nil || !changed {
				t.Fatalf("changed=%v %v", changed, err)
			}
			k.absorb(ch)
			if got := k.f.Lines[0].Status; got != tt.want || k.f.Records[0].Case.Has(CaseUnmatchedLine) != (tt.want == EffectHeld) {
				t.Errorf("%s with case %v, want %s", got, reasonsOf(k.f.Records[0].Case), tt.want)
			}
		})
	}
}

// A line that was there before the refund's first send explains nothing of it. The channel's own time counts only where it is earlier by
// more than ten minutes and the clock margin.
func TestAnOlderLineExplainsNothing(t *testing.T) {
	t.Parallel()
	t.Run("recorded before the first send", func(t *testing.T) {
		t.Parallel()
		k := newPaymentScenario(t)
		k.equalAmounts(2000)
		k.loseAnswer(1) // keeps the line from being adopted
		k.line("re_9", 400, true)
		k.f.Now = k.f.Now.Add(time.Second)
		k.f.Records[0].Now = k.f.Now
		k.loseAnswer(0)
		k.settle()
		k.expect("the case is of the other refund alone", EffectHeld, 0, 0, 1)
		k.askUntilAbsent(0)
		if r := k.f.Records[0]; r.State != StatePending || r.Case != nil {
			t.Errorf("%s with case %v: the absence counts", r.State, reasonsOf(r.Case))
		}
	})
	for name, tt := range map[string]struct {
		earlier time.Duration
		owns    bool
	}{"at the bound": {olderByChannel, true}, "beyond it": {olderByChannel + time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newPaymentScenario(t)
			k.loseAnswer(0)
			ch, changed, err := k.f.DecideLine(ListedEffect{ChannelRefundID: "re_9", Status: Succeeded, Amount: 400, Currency: "USD",
				At: day0.Add(-tt.earlier)}, true)
			if err != nil || !changed {
				t.Fatalf("changed=%v %v", changed, err)
			}
			k.absorb(ch)
			if got := k.f.Records[0].Case.Has(CaseUnmatchedLine); got != tt.owns {
				t.Errorf("the refund may own it: %v, want %v", got, tt.owns)
			}
		})
	}
}

// A held line counts against the refundable amount only as far as no open refund that may own it covers it. One refund covers one line.
func TestAnOpenRefundCoversOneHeldLine(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.loseAnswer(0)
	k.line("re_1", 400, true)
	k.expect("covered by the refund's reservation", EffectHeld, 0, 0, 0)
	k.line("re_2", 400, true)
	k.expect("the second one is not", EffectHeld, 0, 400, 0)
	k.mustDecide(0, Decision{Action: ActionConfirmSuccess, EffectID: k.lineID("re_1")})
	k.expect("the refund has ended and covers none", EffectHeld, 400, 400)
	k.settle()
	k.expect("nobody may own the second one", EffectMoved, 800, 0)

	two := newPaymentScenario(t)
	two.equalAmounts(2000)
	two.loseAnswer(0)
	two.loseAnswer(1)
	two.line("re_1", 400, true)
	two.line("re_2", 400, true)
	two.settle()
	two.expect("each refund covers one", EffectHeld, 0, 0, 0, 1)
	two.mustDecide(0, Decision{Action: ActionConfirmNotDone})
	two.expect("one is left without cover", EffectHeld, 0, 400, 1)
}

// Known excess that nobody has accepted stops the sends of the payment. Questions continue. The excess is accepted on any open refund, in
// the same decision as "not ours", and then sends go on.
func TestKnownExcessStopsSends(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.f.Payment.Captured = 700
	k.loseAnswer(0)
	k.line("re_8", 111, true)
	k.line("re_9", 400, true)
	k.expect("111 more than was captured", EffectHeld, 0, 111, 0)
	other := k.f.full(1)
	if step := Decide(other, k.f.Contract, k.f.Now); step.Kind != StepWait || step.Why != PendingExcess {
		t.Errorf("the other refund: %+v, want a wait because of excess", step)
	}
	if _, _, ok := claim(other, AttemptSend, 1, k.f.Contract, k.f.Now); ok {
		t.Error("the claim went through")
	}
	k.f.Now = k.f.Now.Add(time.Minute)
	if r := k.f.full(0); Decide(r, k.f.Contract, k.f.Now).Kind != StepList {
		t.Errorf("questions continue: %+v", Decide(r, k.f.Contract, k.f.Now))
	}
	k.mustDecide(0, Decision{Action: ActionAcceptAsIs})
	k.askUntilAbsent(0)
	k.settle()
	if p := k.f.Payment; p.Refunded != 511 || p.Excess != 511 || p.ExcessAccepted != 511 {
		t.Errorf("payment %+v", p)
	}
	k.f.Payment.ExcessAccepted = 111
	k.f.Records[1].Case = &Case{Reasons: []CaseReason{CaseDeadline}}
	k.mustDecide(1, Decision{Action: ActionAcceptAsIs})
	k.expectCase("only the excess is accepted", 1, CaseDeadline)
	k.f.Records[1].Case = nil
	r := k.f.full(1)
	if step := Decide(r, k.f.Contract, k.f.Now); r.Payment.ExcessAccepted != 511 || step.Kind != StepSend {
		t.Errorf("after the excess was accepted: %+v, payment %+v", step, r.Payment)
	}
}

// Excess stops the replay of a key, too.
func TestKnownExcessStopsAReplay(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "replaying")
	s.answerWith(s.send(), Unknown)
	s.wait(11 * time.Second)
	s.expectStep("the key is alive", StepSend)
	s.r.Payment.Excess = 1
	if step := s.expectStep("excess", StepWait); !step.Until.Equal(s.now().Add(excessRecheck)) {
		t.Errorf("waits until %v", step.Until)
	}
	s.r.Payment.ExcessAccepted = 1
	s.expectStep("accepted", StepSend)
}

// A line that names the known channel refund id of a number is about that number: it books, reverses or ends it. It changes nothing only
// when that fact is known.
func TestALineWithTheKnownIDIsAboutTheNumber(t *testing.T) {
	t.Parallel()
	for status, want := range map[FactKind]State{Succeeded: StateSuccess, Reversed: StateReversed, FailedFinal: StateFailed} {
		k := newPaymentScenario(t)
		k.change(0, func(s *scenario) { s.answer(s.send(), Answer{Kind: Acknowledged, ChannelRefundID: "re_1"}) })
		k.f.Now = k.f.Now.Add(time.Minute)
		l := ListedEffect{ChannelRefundID: "re_1", Status: status, Amount: 400, Currency: "USD"}
		ref, no, ok := k.f.About(l)
		if !ok || ref != k.f.Records[0].RefundRef || no != 1 {
			t.Fatalf("%s: about %v %d %v", status, ref, no, ok)
		}
		f := Fact{Kind: l.Status, Dispatch: no, ChannelRefundID: l.ChannelRefundID, Amount: 400, Currency: "USD", Source: "list"}
		k.change(0, func(s *scenario) {
			s.wait(time.Minute)
			s.enter(f)
			if ch := s.enter(f); len(ch.Steps) != 0 {
				t.Errorf("%s again: %+v", status, ch.Steps)
			}
		})
		if r := k.f.Records[0]; r.State != want || r.Case != nil {
			t.Errorf("%s: %s with case %v, want %s", status, r.State, reasonsOf(r.Case), want)
		}
	}
}

// A held line that failed or was returned is dropped, and its reason is answered. An adopted one gives its amount back.
func TestTheEndOfALineIsNews(t *testing.T) {
	t.Parallel()
	for _, status := range []FactKind{FailedFinal, Reversed} {
		k := newPaymentScenario(t)
		k.loseAnswer(0)
		k.line("re_9", 400, true)
		ch, changed, err := k.f.DecideLine(ListedEffect{ChannelRefundID: "re_9", Status: status, Amount: 400, Currency: "USD"}, true)
		if err != nil || !changed {
			t.Fatalf("%s: changed=%v %v", status, changed, err)
		}
		k.absorb(ch)
		k.settle()
		k.expect(string(status), EffectDropped, 0, 0)
	}
	k := newPaymentScenario(t)
	k.line("re_9", 100, true)
	ch, changed, err := k.f.DecideLine(ListedEffect{ChannelRefundID: "re_9", Status: Reversed, Amount: 100, Currency: "USD"}, true)
	if err != nil || !changed {
		t.Fatalf("adopted: changed=%v %v", changed, err)
	}
	k.absorb(ch)
	k.expect("came back", EffectReversed, 0, 0)
}

// A person's answer is stored per line and refund. confirm-not-done and accept-as-is adopt a held line only where no other refund may
// still own it.
func TestAnAnswerAboutALineIsOfOneRefund(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.equalAmounts(2000)
	k.loseAnswer(0)
	k.loseAnswer(1)
	k.line("re_9", 400, true)
	k.settle()
	k.expect("each that may own it is asked", EffectHeld, 0, 0, 0, 1)
	k.mustDecide(0, Decision{Action: ActionConfirmNotDone})
	k.settle()
	k.expect("the other may own it", EffectHeld, 0, 0, 1)
	if id := k.lineID("re_9"); !k.f.Records[0].NotOurs[id] || k.f.Records[1].NotOurs[id] {
		t.Error("the answer is not the first refund's alone")
	}
	k.mustDecide(1, Decision{Action: ActionConfirmNotDone})
	k.expect("nobody's", EffectMoved, 400, 0)
	k.settle()
	k.expectCase("nobody asks again", 0)
	k.expectCase("nobody asks again", 1)
}

// resend says of every line held for the refund that it is not its own.
func TestAResendAnswersTheLinesHeldForTheRefund(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.loseAnswer(0)
	k.line("re_9", 400, true)
	k.mustDecide(0, Decision{Action: ActionResend})
	if !k.f.Records[0].NotOurs[k.lineID("re_9")] {
		t.Error("the answer is not stored")
	}
	k.askUntilAbsent(0)
	k.settle()
	k.expect("nobody's", EffectMoved, 400, 0)
	k.expectCase("continues", 0)
}

// Cancel keeps the reason: a canceled refund may own a line that its earlier send has made.
func TestCancelKeepsTheReasonOfALine(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.loseAnswer(0)
	k.askUntilAbsent(0)
	k.line("re_9", 400, true)
	k.change(0, func(s *scenario) { s.enter(Fact{Kind: Withdrawn, Source: "cancel", Actor: "actor:shop"}) })
	k.settle()
	k.expect("held", EffectHeld, 0, 400, 0)
	if r := k.f.Records[0]; r.State != StateCanceled {
		t.Errorf("%s, want CANCELED", r.State)
	}
}

// confirm-success offers an equal adopted line first. Booking money beside it needs the explicit answer that both happened.
func TestConfirmSuccessBesideAnAdoptedLine(t *testing.T) {
	t.Parallel()
	adopted := func(t *testing.T) *paymentScenario {
		k := newPaymentScenario(t)
		k.f.Contract.Codes.LateFailure = false
		k.change(0, func(s *scenario) { s.answerWith(s.send(), Retryable) })
		k.f.Now = k.f.Now.Add(time.Second)
		k.line("re_9", 400, true)
		k.expect("the refused send cannot have made it", EffectMoved, 400, 0)
		k.change(0, func(s *scenario) {
			s.r.Payment.ExcessAccepted = 1000
			s.wait(time.Minute)
			s.answerWith(s.send(), Unknown)
			s.r.Case = &Case{Reasons: []CaseReason{CaseDeadline}}
		})
		return k
	}
	t.Run("named", func(t *testing.T) {
		t.Parallel()
		k := adopted(t)
		i := slices.IndexFunc(Allowed(k.f.full(0), k.f.Contract, k.f.Now), func(c Choice) bool { return c.Action == ActionConfirmSuccess })
		if c := Allowed(k.f.full(0), k.f.Contract, k.f.Now)[i]; !c.Allowed || !slices.Equal(c.Lines, []RID{k.lineID("re_9")}) {
			t.Errorf("choice %+v", c)
		}
		k.mustDecide(0, Decision{Action: ActionConfirmSuccess, EffectID: k.lineID("re_9")})
		if r := k.f.Records[0]; r.State != StateSuccess || len(r.Effects) != 1 || k.f.Payment.Refunded != 400 || len(k.f.Lines) != 0 {
			t.Errorf("%s, effects %+v, refunded %d", r.State, r.Effects, k.f.Payment.Refunded)
		}
	})
	t.Run("beside it", func(t *testing.T) {
		t.Parallel()
		k := adopted(t)
		var no *NotAllowed
		if err := k.decide(0, Decision{Action: ActionConfirmSuccess}); !errors.As(err, &no) || no.Why != ObstacleEqualLine {
			t.Fatalf("%v, want %s", err, ObstacleEqualLine)
		}
		k.mustDecide(0, Decision{Action: ActionConfirmSuccess, BothHappened: true})
		k.expect("both", EffectMoved, 800, 0)
	})
}
