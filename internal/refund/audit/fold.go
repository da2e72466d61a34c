package audit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Finding is one violation of a promise in the records of one refund.
type Finding struct {
	Promise string // P1 … P12
	Check   string // stable name of the check
	What    string // the violation, without personal data
}

// StoredEntry is a stored journal row.
type StoredEntry struct {
	refund.Entry
	Seq          int
	Pos          int64
	At           time.Time
	Digest, Hash [32]byte
}

// Auditor checks stored records with the code that made them. It keeps no state between refunds. It is not safe for
// concurrent use.
type Auditor struct {
	transitions map[string]bool
	twoRows     map[string]string // rules that write two journal rows for one answer, with the answer's kind
	effects     map[string][]refund.MoveEffects
	found       func(Finding)
}

// NewAuditor returns an Auditor that passes its findings to found.
func NewAuditor(found func(Finding)) *Auditor {
	a := &Auditor{transitions: map[string]bool{}, twoRows: refund.TwoStepRules(), effects: refund.RuleEffects(), found: found}
	for _, t := range refund.Transitions() {
		a.transitions[t] = true
	}
	return a
}

func (a *Auditor) report(promise, check, format string, args ...any) {
	a.found(Finding{Promise: promise, Check: check, What: fmt.Sprintf(format, args...)})
}

// Fold reads the journal of one refund, row by row, ordered by seq. Its methods are in fold.go, calls.go, claims.go,
// effects.go, numbers.go, times.go and reviews.go.
type Fold struct {
	a    *Auditor
	rid  refund.RID
	last StoredEntry

	first      StoredEntry
	sendClaims map[int]bool // generations of claims of sends
	askClaims  map[int]bool
	decided    bool // a row is a person's decision
	broken     bool // the chain broke: one finding is enough

	rows         []journalRow
	answers      []journalAnswer
	answerBuffer [2]journalAnswer // avoids an allocation for most refunds
	cases        []journalCase
	inCase       bool // the last row that mentions cases had one
	decisions    []journalDecision
}

// Fold starts a refund's journal.
func (a *Auditor) Fold(rid refund.RID) *Fold {
	return &Fold{a: a, rid: rid, sendClaims: map[int]bool{}, askClaims: map[int]bool{}}
}

// Add adds the next row.
func (f *Fold) Add(e StoredEntry) {
	if e.Seq != f.last.Seq+1 {
		f.a.report("P7", "journal-gap", "seq %d follows %d", e.Seq, f.last.Seq)
	}
	if e.Digest != e.Entry.Digest() {
		f.a.report("P7", "journal-digest", "the digest of seq %d is not that of its columns", e.Seq)
	}
	if !f.broken && e.Hash != refund.JournalHash(f.last.Hash, f.rid, int32(e.Seq), e.At, e.Digest) { // #nosec G115 -- the column is an int4
		f.broken = true
		f.a.report("P7", "journal-chain", "the hash of seq %d does not link to the row before", e.Seq)
	}
	if e.From != f.last.To {
		f.a.report("P7", "journal-state", "seq %d begins in %q, the row before ended in %q", e.Seq, e.From, f.last.To)
	}
	if e.From != "" && e.From != e.To && !f.a.transitions[string(e.From)+">"+string(e.To)] {
		f.a.report("P7", "journal-transition", "seq %d goes from %s to %s", e.Seq, e.From, e.To)
	}
	if f.last.Seq > 0 && e.Pos <= f.last.Pos {
		f.a.report("P7", "journal-position", "seq %d has position %d, the row before %d", e.Seq, e.Pos, f.last.Pos)
	}
	f.checkGeneration(e)
	if f.first.Seq == 0 {
		f.first = e
	}
	f.decided = f.decided || e.Source == "decision"
	f.readMembers(&e)
	f.rows = append(f.rows, decode(&e))
	f.last = e
}

// checkGeneration checks that the generation rises by one with a claim and never otherwise.
func (f *Fold) checkGeneration(e StoredEntry) {
	want := f.last.Generation
	switch e.Kind {
	case refund.JournalKind(refund.ClaimSend):
		want++
		f.sendClaims[e.Generation] = true
	case refund.JournalKind(refund.ClaimAsk):
		want++
		f.askClaims[e.Generation] = true
	}
	if f.last.Seq > 0 && e.Generation != want {
		f.a.report("P7", "journal-generation", "seq %d (%s) has generation %d, want %d", e.Seq, e.Kind, e.Generation, want)
	}
}

// Rows returns the number of added rows.
func (f *Fold) Rows() int { return f.last.Seq }

// Close compares the end of the journal with the refund's row, and the row's parameters with the first journal row.
func (f *Fold) Close(r refund.Refund, tenantCode string) {
	if f.last.Seq != r.JournalSeq {
		f.a.report("P7", "journal-head-seq", "the journal ends at %d, the refund says %d", f.last.Seq, r.JournalSeq)
	}
	if f.last.Hash != r.JournalHead {
		f.a.report("P7", "journal-head-hash", "the refund's head is not the hash of its last journal row")
	}
	if f.last.To != r.State {
		f.a.report("P7", "state-fold", "the journal leads to %q, the refund is %s", f.last.To, r.State)
	}
	if f.last.Generation != r.Generation {
		f.a.report("P7", "generation-fold", "the journal ends with generation %d, the refund has %d", f.last.Generation, r.Generation)
	}
	if refund.RefundDigest(r.OrderID, r.PaymentID, r.Amount, r.Currency) != r.Digest {
		f.a.report("P6", "refund-digest", "the digest is not that of the refund's parameters")
	}
	if f.first.Seq == 1 {
		f.checkFirstRow(r, tenantCode)
	}
}

// checkFirstRow compares the parameters of the first row, which the chain protects, with those of the refund.
func (f *Fold) checkFirstRow(r refund.Refund, tenantCode string) {
	var told struct {
		Tenant, RefundID, OrderID, PaymentID, Account *string
		Currency                                      *refund.Currency
		Amount                                        *int64
	}
	if err := json.Unmarshal([]byte(f.first.Data), &told); err != nil {
		f.a.report("P7", "journal-birth", "the first row's data cannot be read")
		return
	}
	same := told.Tenant != nil && *told.Tenant == tenantCode && told.RefundID != nil && *told.RefundID == r.RefundID &&
		absentOrEqual(told.OrderID, r.OrderID) && absentOrEqual(told.PaymentID, r.PaymentID) && absentOrEqual(told.Account, r.Account) &&
		absentOrEqual(told.Currency, r.Currency) && absentOrEqual(told.Amount, r.Amount)
	if !same {
		f.a.report("P7", "journal-birth", "the first row has other parameters than the refund")
	}
}

// absentOrEqual reports whether an optional value agrees; an absent one does.
func absentOrEqual[T comparable](told *T, is T) bool { return told == nil || *told == is }
