package refund

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Action is what a person may decide about a case.
type Action string

// The six decisions.
const (
	ActionConfirmSuccess     Action = "confirm-success"     // the money moved: books it, or attaches a held line
	ActionConfirmNotDone     Action = "confirm-not-done"    // it did not and will not: FAILED
	ActionResend             Action = "resend"              // the old number did nothing: the next one, once the channel was asked again
	ActionWait               Action = "wait"                // somebody has looked; the case stays open
	ActionAcceptAsIs         Action = "accept-as-is"        // an end stays as it is, and what it cost is accepted
	ActionRevokeConfirmation Action = "revoke-confirmation" // a success that only a person had confirmed was none
)

// Actions lists them in the order in which people see them.
func Actions() []Action {
	return []Action{ActionConfirmSuccess, ActionConfirmNotDone, ActionResend, ActionWait, ActionAcceptAsIs, ActionRevokeConfirmation}
}

// ApprovalTime is how long a proposal can be approved.
const ApprovalTime = 24 * time.Hour

// Bounds of the evidence that a decision needs: a text or a reference.
const (
	MinEvidence = 8
	MaxEvidence = 4000
)

// ValidEvidence says whether a text can be the evidence of a decision: 8 to 4,000 characters besides blanks at its ends.
func ValidEvidence(s string) bool {
	n := utf8.RuneCountInString(strings.TrimSpace(s))
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0) && n >= MinEvidence && utf8.RuneCountInString(s) <= MaxEvidence
}

// DecisionVerdict is what became of a proposal.
type DecisionVerdict string

// Verdicts; "" = proposed and not judged yet.
const (
	DecisionApproved DecisionVerdict = "APPROVED"
	DecisionRejected DecisionVerdict = "REJECTED"
	DecisionExpired  DecisionVerdict = "EXPIRED"
	DecisionVoid     DecisionVerdict = "VOID"
)

// Decision is what one person proposes for a case and another one approves. It is bound to what its maker saw.
type Decision struct {
	ID, CaseID           RID
	Action               Action
	JournalSeq           int   // of the refund; 0 for a payment's case
	Excess               int64 // of the payment, where the decision accepts it
	EffectID             RID   // the held line that confirm-success attaches; zero = none
	Evidence             string
	Maker, Checker       string // names of actors; Checker "" = nobody
	MadeAt, ExpiresAt    time.Time
	CheckedAt, AppliedAt time.Time // zero = not yet
	Verdict              DecisionVerdict
}

// Stale says whether the refund has moved on since the decision was made.
func (d Decision) Stale(r Record) bool {
	return d.JournalSeq != r.JournalSeq || (d.Action == ActionAcceptAsIs && d.Excess != r.Payment.Excess)
}

// Same says whether a proposal says what d says. Repeats are idempotent by it.
func (d Decision) Same(p Proposal) bool {
	return d.Action == p.Action && d.Evidence == p.Evidence && d.EffectID == p.EffectID && d.Maker == p.Actor
}

// Proposal is a decision as its maker asks for it.
type Proposal struct {
	Tenant   TenantID
	CaseID   RID
	Action   Action
	Evidence string
	EffectID RID    // confirm-success: the held line to attach; zero = none
	Version  int    // the refund's version that the maker saw; 0 = whatever it is now
	Actor    string // name
}

// Approval is what another actor says of a proposal.
type Approval struct {
	Tenant     TenantID
	CaseID     RID
	DecisionID RID
	Approve    bool
	Actor      string // name
}

// Open says whether a decision still waits: for its approval, or approved for its time.
func (d Decision) Open() bool {
	return d.Verdict == "" || (d.Verdict == DecisionApproved && d.AppliedAt.IsZero())
}

// Due says whether an approved decision may take effect at a time, as far as time decides it.
func (d Decision) Due(r Record, c Contract, now time.Time) bool {
	return d.Verdict == DecisionApproved && d.AppliedAt.IsZero() && !r.SendingHeld && !now.Before(r.DecisionFrom(c))
}
