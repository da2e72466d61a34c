package refund

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Action is a decision that an actor may propose about a case.
type Action string

// The six actions.
const (
	ActionConfirmSuccess     Action = "confirm-success"     // the money moved: books it, or makes a line of the payment the refund's own
	ActionConfirmNotDone     Action = "confirm-not-done"    // the refund was not executed and will not be: FAILED
	ActionResend             Action = "resend"              // the old number did nothing: the next one, once the channel was asked again
	ActionWait               Action = "wait"                // somebody has reviewed the case; nothing changes, and it stays open
	ActionAcceptAsIs         Action = "accept-as-is"        // held lines are not this refund, and the excess is accepted; an ended refund stays as it is
	ActionRevokeConfirmation Action = "revoke-confirmation" // undoes a success that only a person had confirmed
)

// Actions returns the actions in the order in which people see them.
func Actions() []Action {
	return []Action{ActionConfirmSuccess, ActionConfirmNotDone, ActionResend, ActionWait, ActionAcceptAsIs, ActionRevokeConfirmation}
}

// StopsSends reports whether nothing is sent while a proposal of the action is open: an answer that comes in would void it.
func (a Action) StopsSends() bool { return a != ActionWait }

// ApprovalTime is how long a proposal can be approved.
const ApprovalTime = 24 * time.Hour

// Bounds of a decision's evidence, a text or a reference, in characters.
const (
	MinEvidence = 8
	MaxEvidence = 4000
)

// ValidEvidence reports whether a text can be the evidence of a decision: valid UTF-8 of at most 4,000 characters, 8 of them
// or more without the blanks at its ends.
func ValidEvidence(s string) bool {
	n := utf8.RuneCountInString(strings.TrimSpace(s))
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0) && n >= MinEvidence && utf8.RuneCountInString(s) <= MaxEvidence
}

// DecisionVerdict is the outcome of a proposal.
type DecisionVerdict string

// Verdicts; "" = not judged yet.
const (
	DecisionApproved DecisionVerdict = "APPROVED"
	DecisionRejected DecisionVerdict = "REJECTED"
	DecisionExpired  DecisionVerdict = "EXPIRED"
	DecisionVoid     DecisionVerdict = "VOID"
)

// Decision is proposed by one actor for a case and approved by another one (rules R27 and R28 of docs/rules.md). Both may be of
// either kind, person or system; their keys need the scopes cases:decide and cases:approve. A decision is bound to the version
// of the refund that its maker saw. Its methods are in decision.go and decision_apply.go.
type Decision struct {
	ID, CaseID           RID
	Action               Action
	JournalSeq           int   // the refund's version that the maker saw (Refund.JournalSeq); 0 for a payment's case
	Excess               int64 // of the payment, where the decision accepts it
	EffectID             RID   // the line that confirm-success makes the refund's own; zero = none
	BothHappened         bool  // confirm-success: the refund moved money beside the adopted line of its amount
	Evidence             string
	Maker, Checker       string // names of actors; Checker "" = nobody
	MadeAt, ExpiresAt    time.Time
	CheckedAt, AppliedAt time.Time // zero = not yet
	Verdict              DecisionVerdict
}

// Stale reports whether the refund has a newer version than the one that the decision is bound to, or the payment another
// excess than the one that it accepts.
func (d Decision) Stale(r Record) bool {
	return d.JournalSeq != r.JournalSeq || (d.Action == ActionAcceptAsIs && d.Excess != r.Payment.Excess)
}

// Same reports whether a proposal repeats d. Repeats are idempotent.
func (d Decision) Same(p Proposal) bool {
	return d.Action == p.Action && d.Evidence == p.Evidence && d.EffectID == p.EffectID && d.BothHappened == p.BothHappened &&
		d.Maker == p.Actor
}

// Proposal is a decision as its maker requests it.
type Proposal struct {
	Tenant       TenantID
	CaseID       RID
	Action       Action
	Evidence     string
	EffectID     RID    // confirm-success: the line that is this refund; zero = none
	BothHappened bool   // confirm-success: the refund moved money beside the adopted line of its amount
	Version      int    // the refund's version that the maker saw (Refund.JournalSeq); 0 = the present one
	Actor        string // name
}

// Approval is another actor's verdict on a proposal.
type Approval struct {
	Tenant     TenantID
	CaseID     RID
	DecisionID RID
	Approve    bool
	Actor      string // name
}

// Open reports whether a decision waits for its approval, or is approved and has not taken effect yet.
func (d Decision) Open() bool {
	return d.Verdict == "" || (d.Verdict == DecisionApproved && d.AppliedAt.IsZero())
}

// MayTakeEffect reports whether an approved decision may take effect at a time (rule R28 of docs/rules.md): it has not done so
// yet, no epoch is open, and no request can be executed any more. Wait changes nothing: it takes effect with its approval.
func (d Decision) MayTakeEffect(r Record, c Contract, now time.Time) bool {
	return d.Verdict == DecisionApproved && d.AppliedAt.IsZero() && !r.SendingHeld && !now.Before(r.TakesEffectFrom(c))
}

// TakesEffectFrom returns when no request of the refund can be executed any more: the latest last moment of all sends, and of
// owners lost in another epoch, plus the horizon. No decision but wait takes effect before it (rule R28 of docs/rules.md).
func (r *Record) TakesEffectFrom(c Contract) time.Time {
	var at time.Time
	for _, a := range r.Attempts {
		if a.Kind == AttemptSend { // a question moves no money
			at = later(at, a.NotAfter.Add(c.Horizon.D()))
		}
	}
	for _, d := range r.Dispatches {
		if !d.LostSendUntil.IsZero() {
			at = later(at, d.LostSendUntil.Add(c.Horizon.D()))
		}
	}
	return at
}
