package audit

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// ReviewRecords are the stored cases, decisions and retirements of a refund.
type ReviewRecords struct {
	Cases       []StoredCase      // of the refund
	Decisions   []refund.Decision // about them; Maker and Checker are names
	Retirements []StoredRetirement
}

// StoredCase is a stored case with the time in which it was open.
type StoredCase struct {
	ID                 refund.RID
	OpenedAt, ClosedAt time.Time // ClosedAt zero = open
}

func (c StoredCase) openAt(t time.Time) bool {
	return !c.OpenedAt.After(t) && (c.ClosedAt.IsZero() || !c.ClosedAt.Before(t))
}

// StoredRetirement is the retirement of a number.
type StoredRetirement struct {
	No         int
	ByDecision bool
	At         time.Time
}

// Contents of journal rows that are stored elsewhere, too.
type (
	journalAnswer struct {
		seq, attempt int
		at           time.Time
		kind         string
	}
	journalCase struct {
		seq     int
		at      time.Time
		opens   bool   // the row before had no case
		reasons string // as JSON
	}
	journalDecision struct {
		seq                              int
		at                               time.Time
		kind                             string
		Decision, Maker, Checker, Effect string
	}
)

// readMembers reads a row's attempts, cases and decisions. Its data is canonical JSON: a quote in a text is escaped, so the
// name of a member with its quotes and colon cannot be part of a text.
func (f *Fold) readMembers(e *StoredEntry) {
	if e.From == "" || e.Source == "worker" && strings.HasPrefix(e.Kind, "claim_") {
		return // first rows and claims have none
	}
	if text, ok := member(e.Data, `"attempt":`); ok {
		t := journalAnswer{seq: e.Seq, at: e.At, kind: e.Kind}
		t.attempt, _ = strconv.Atoi(text[:digits(text)])
		if row, two := member(e.Data, `"rule":"`); two {
			if kind := f.a.twoRows[row[:max(0, strings.IndexByte(row, '"'))]]; kind != "" {
				t.kind = kind // such a rule writes one answer as two rows, each with its own kind
			}
		}
		if f.answers == nil {
			f.answers = f.answerBuffer[:0]
		}
		f.answers = append(f.answers, t)
	}
	reasons, open := member(e.Data, `"case":[`)
	if open {
		f.cases = append(f.cases, journalCase{seq: e.Seq, at: e.At, opens: !f.inCase, reasons: reasons[:max(0, strings.IndexByte(reasons, ']'))]})
	}
	f.inCase = open
	if e.Source == "decision" {
		t := journalDecision{seq: e.Seq, at: e.At, kind: e.Kind}
		if err := json.Unmarshal([]byte(e.Data), &t); err != nil {
			t.Decision = "" // reported as missing
		}
		f.decisions = append(f.decisions, t)
	}
}

func member(data, name string) (behind string, ok bool) {
	_, behind, ok = strings.Cut(data, name)
	return behind, ok
}

func digits(s string) (n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// checkAnswers compares the answers in the journal with those of the attempts.
func (f *Fold) checkAnswers(r *refund.Record) {
	for _, t := range f.answers {
		a, ok := r.Attempt(t.attempt)
		switch {
		case !ok:
			f.a.report("P10", "attempt-missing", "seq %d has the answer of attempt %d, which does not exist", t.seq, t.attempt)
		case refund.JournalKind(a.Answer) != t.kind:
			f.a.report("P8", "answer-differs", "seq %d has the answer %q of attempt %d, the attempt has %q", t.seq, t.kind, t.attempt, refund.JournalKind(a.Answer))
		case !a.AnsweredAt.Equal(t.at):
			f.a.report("P8", "answer-differs", "seq %d has the answer of attempt %d at %s, the attempt at %s", t.seq, t.attempt, stamp(t.at), stamp(a.AnsweredAt))
		}
	}
}

// NeedsReviewRecords reports whether the check needs them: the journal mentions cases or decisions, or the refund has more
// than one effect.
func (f *Fold) NeedsReviewRecords(r *refund.Record) bool {
	return len(r.Effects) > 1 || len(f.cases) > 0 || len(f.decisions) > 0
}

// People checks the cases and decisions in the journal against the stored ones, and the effects against the decisions.
// contracts is that of Calls.
func (f *Fold) People(r *refund.Record, contracts func(account string, version int) (refund.Contract, bool), p ReviewRecords) {
	for _, t := range f.cases { // a case has the time of the row that opens it, whatever the clock does
		if t.opens && !slices.ContainsFunc(p.Cases, func(c StoredCase) bool { return c.OpenedAt.Equal(t.at) }) {
			f.a.report("P8", "case-missing", "seq %d opens a case, none was opened at that time", t.seq)
		}
	}
	for _, t := range f.decisions {
		f.checkDecision(t, p)
	}
	f.checkEffects(r, contracts, p)
}

func (f *Fold) checkDecision(t journalDecision, p ReviewRecords) {
	i := slices.IndexFunc(p.Decisions, func(d refund.Decision) bool { return d.ID.String() == t.Decision })
	if i < 0 {
		f.a.report("P8", "decision-missing", "seq %d names decision %q, which does not exist", t.seq, t.Decision)
		return
	}
	d, effect := p.Decisions[i], ""
	if !d.EffectID.IsZero() {
		effect = d.EffectID.String()
	}
	inCase := func(c StoredCase) bool { return c.ID == d.CaseID }
	switch {
	case string(d.Action) != t.kind:
		f.a.report("P8", "decision-differs", "seq %d has the action %s, decision %s has %s", t.seq, t.kind, d.ID, d.Action)
	case d.Maker != t.Maker || d.Checker != t.Checker || d.Maker == d.Checker || d.Maker == "":
		f.a.report("P8", "decision-differs", "seq %d has maker %q and checker %q, decision %s has %q and %q", t.seq, t.Maker, t.Checker, d.ID, d.Maker, d.Checker)
	case d.Verdict != refund.DecisionApproved || !d.AppliedAt.Equal(t.at):
		f.a.report("P8", "decision-differs", "seq %d applies decision %s, which is %q and has another time", t.seq, d.ID, d.Verdict)
	case d.JournalSeq != t.seq-1:
		f.a.report("P8", "decision-differs", "seq %d applies decision %s, which was made on seq %d", t.seq, d.ID, d.JournalSeq)
	case effect != t.Effect || !slices.ContainsFunc(p.Cases, inCase):
		f.a.report("P8", "decision-differs", "seq %d and decision %s are about another effect or case", t.seq, d.ID)
	}
}

// Unproven checks that each decision that took effect was approved by another actor and is in the journal.
func (f *Fold) Unproven(decisions []refund.Decision) {
	for _, d := range decisions {
		if d.AppliedAt.IsZero() {
			continue
		}
		if d.Verdict != refund.DecisionApproved || d.Checker == "" || d.Checker == d.Maker {
			f.a.report("P8", "decision-unproven", "decision %s took effect without the approval of another actor", d.ID)
		}
		told := func(t journalDecision) bool { return t.Decision == d.ID.String() }
		if d.Action != refund.ActionWait && !slices.ContainsFunc(f.decisions, told) {
			f.a.report("P8", "decision-untold", "decision %s took effect and is not in the journal", d.ID)
		}
	}
}

// channelEffects returns the number of effects that the channel confirmed, the number of their dispatches, and the time of
// the last one.
func channelEffects(r *refund.Record) (n, numbers int, last time.Time) {
	var seen []int
	for i := range r.Effects {
		e := &r.Effects[i]
		if !e.Ours || (e.Status != refund.EffectMoved && e.Status != refund.EffectReversed) || e.ByPersonOnly() {
			continue
		}
		n++
		if e.At.After(last) {
			last = e.At
		}
		if !slices.Contains(seen, e.DispatchNo) {
			seen = append(seen, e.DispatchNo)
		}
	}
	return n, len(seen), last
}

// checkEffects reports more than one movement of money for one refund. A resend by decision, a number that could not be
// replayed after its key had expired, and effects that two people have accepted afterwards are outside of the promise.
func (f *Fold) checkEffects(r *refund.Record, contracts func(account string, version int) (refund.Contract, bool), p ReviewRecords) {
	n, numbers, last := channelEffects(r)
	deduped := slices.ContainsFunc(r.Attempts, func(a refund.Attempt) bool {
		c, _ := contracts(r.Account, a.ContractVersion)
		return a.Kind == refund.AttemptSend && c.Key.Dedupes
	})
	opened := slices.ContainsFunc(p.Retirements, func(x StoredRetirement) bool {
		d, ok := r.Dispatch(x.No)
		return ok && (x.ByDecision || (d.MarkedEpoch == 0 && !d.KeyExpiresAt.IsZero() && d.KeyExpiresAt.Before(x.At)))
	})
	if n < 2 || !deduped || (numbers == n && opened) || f.accepted(p, last) {
		return
	}
	f.a.report("P1", "effects-per-refund", "%d effects for one refund", n)
}

// accepted reports whether the case of a second or late effect was closed by a decision made after all effects were known.
func (f *Fold) accepted(p ReviewRecords, last time.Time) bool {
	for _, d := range p.Decisions {
		if d.Action != refund.ActionAcceptAsIs || d.Verdict != refund.DecisionApproved || d.AppliedAt.IsZero() || !d.MadeAt.After(last) {
			continue
		}
		for _, c := range p.Cases {
			about := func(t journalCase) bool {
				has := func(reason refund.CaseReason) bool { return strings.Contains(t.reasons, `"`+string(reason)+`"`) }
				return c.openAt(t.at) && (has(refund.CaseMultipleEffects) || has(refund.CaseSuccessAfterEnd))
			}
			if c.ID == d.CaseID && c.ClosedAt.Equal(d.AppliedAt) && slices.ContainsFunc(f.cases, about) {
				return true
			}
		}
	}
	return false
}
