package refund

// ApplyDecision makes an approved decision take effect on a record that is held under its lock. Like Apply it is pure.
// Errors: *Problem with CodeDecisionVoid when the refund has changed or its case is closed, *NotAllowed when the state
// forbids the decision, ErrTooEarly before TakesEffectFrom and while an epoch is open.
func ApplyDecision(r Record, d Decision, c Contract) (Change, error) {
	switch {
	case r.Case == nil || r.Case.ID != d.CaseID || d.Stale(r):
		return Change{}, &Problem{Code: CodeDecisionVoid}
	case d.Action != ActionWait && (r.SendingHeld || r.Now.Before(r.TakesEffectFrom(c))):
		return Change{}, ErrTooEarly
	}
	if err := Obstructed(r, d, c); err != nil {
		return Change{}, err
	}
	ch := Change{Before: r, After: clone(r), Decision: d.ID}
	if d.Action == ActionWait {
		return ch, nil
	}
	s := &transition{rules: decisionTable, r: &ch.After, c: c, now: r.Now, change: &ch, decided: &d}
	s.f = Fact{Kind: FactKind(d.Action), Dispatch: s.r.DispatchNo, Source: "decision", Actor: "actor:" + d.Checker}
	if d.Action == ActionConfirmSuccess {
		s.f.Dispatch = s.r.numberToConfirm()
		if !d.EffectID.IsZero() {
			s.f.Dispatch = s.r.numberForLine(d.EffectID)
		}
	}
	s.d, _ = s.r.Dispatch(s.f.Dispatch)
	s.applyRule(s.findRule())
	s.rules = stateTable // an answer about a line can be what was missing to end the exposure
	s.leaveIfClear()
	s.setTimer()
	return ch, s.check()
}

// journalFields returns the decision's part of the journal data. Its evidence is personal text and stays in the decision's
// own row.
func (d *Decision) journalFields() map[string]any {
	if d == nil {
		return nil
	}
	out := map[string]any{"decision": d.ID.String(), "maker": d.Maker, "checker": d.Checker}
	if !d.EffectID.IsZero() {
		out["effect"] = d.EffectID.String()
	}
	return out
}

// closeCase ends the case by the decision. Reasons that no decision can end stay: excess above the accepted amount, and a
// number that may still pay, and a held line that may be the refund. Accepting an open refund as it is ends only what was asked
// about lines and excess.
func (s *transition) closeCase() {
	if s.decided == nil || s.r.Case == nil {
		return
	}
	p := &s.r.Payment
	if s.decided.Action == ActionAcceptAsIs {
		p.ExcessAccepted = max(p.ExcessAccepted, p.Excess)
	}
	stays := map[CaseReason]bool{CaseExcess: p.Excess > p.ExcessAccepted, CaseOtherNumberOpen: s.r.State.Final() && s.r.Exposed,
		CaseUnmatchedLine: len(s.r.linesHeldFor()) > 0}
	continues := s.decided.Action == ActionAcceptAsIs && !s.r.State.Final() // the refund goes on: only lines and excess are answered
	for _, reason := range s.r.Case.Reasons {
		if !stays[reason] && (!continues || reason == CaseExcess || reason == CaseUnmatchedLine) {
			s.dropReason(reason)
		}
	}
}
