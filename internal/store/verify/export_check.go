package verify

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// ErrEvidence says that a document is not one that can be checked.
var ErrEvidence = errors.New("store: not an evidence document")

// evidenceRows decodes one table of the document.
func evidenceRows[T any](e Evidence, table string, faults *[]error) []T {
	raw, there := e.Tables[table]
	if !there {
		*faults = append(*faults, fmt.Errorf("%w: table %s is missing", ErrEvidence, table))
	}
	out := make([]T, len(raw))
	for i := range raw {
		if err := json.Unmarshal(raw[i], &out[i]); err != nil {
			*faults = append(*faults, fmt.Errorf("%w: table %s row %d: %w", ErrEvidence, table, i+1, err))
		}
	}
	return out
}

// evidenceCheck is a document on its way through the checks.
type evidenceCheck struct {
	doc       Evidence
	t         *tally
	r         refund.Record
	journal   []evEntry
	postings  []evPosting
	receipts  []evReceipt
	contracts map[int]refund.Contract
	papers    audit.ReviewRecords
	decisions []refund.Decision // of the payment's own cases
}

// CheckEvidence checks a document that Export wrote, without a database: chain, digests, fold, calls, effects, postings, receipts, people,
// and its signature with the public half of the anchor key; nil = the signature is not checked.
// Errors: ErrEvidence; what is wrong with the refund is in the report.
func CheckEvidence(raw []byte, samples int, key ed25519.PublicKey) (Report, error) {
	began := time.Now()
	c := &evidenceCheck{t: newVerifyTally(max(samples, 1))}
	if err := json.Unmarshal(raw, &c.doc); err != nil {
		return Report{}, fmt.Errorf("%w: it cannot be read: %w", ErrEvidence, err)
	}
	if c.doc.Format == draftEvidenceFormat {
		return Report{}, fmt.Errorf("%w: format %q was written by a build before v0.1.0, whose stored words differ; export the refund again", ErrEvidence,
			c.doc.Format)
	}
	if c.doc.Format != EvidenceFormat {
		return Report{}, fmt.Errorf("%w: format %q, want %q", ErrEvidence, c.doc.Format, EvidenceFormat)
	}
	if err := c.read(); err != nil {
		return Report{}, err
	}
	c.checkSignature(raw, key)
	f := audit.NewAuditor(func(f audit.Finding) { c.found(f.Promise, f.Check, "%s", f.What) }).Fold(c.r.RID)
	for _, e := range c.journal {
		f.Add(audit.StoredEntry{Seq: e.Seq, Pos: e.Pos, At: e.At, Digest: hash32(e.Digest), Hash: hash32(e.Hash),
			Entry: refund.Entry{Kind: e.Kind, From: refund.State(e.From), To: refund.State(e.To), Generation: e.Generation, Source: e.Source, Actor: e.Actor,
				FactKey: pg.Deref(e.FactKey), Data: e.Data}})
	}
	f.Close(c.r.Refund, c.doc.Tenant)
	contract := func(_ string, version int) (refund.Contract, bool) { k, ok := c.contracts[version]; return k, ok }
	f.Calls(&c.r, contract)
	f.CheckDecisionTimes(&c.r, 0) // later contracts, which may have a shorter horizon, are not in the document
	f.People(&c.r, contract, c.papers)
	f.Unproven(c.papers.Decisions)
	for _, d := range c.decisions {
		c.ofPayment(d)
	}
	c.money()
	c.intake()
	c.t.refunds, c.t.rows, c.t.streamed = 1, int64(len(c.journal)), time.Since(began)
	return c.t.report(time.Since(began)), nil
}

func (c *evidenceCheck) found(promise, check, format string, args ...any) {
	c.t.add(promise, Violation{Tenant: c.doc.Tenant, RefundID: c.doc.RefundID, Check: check, What: fmt.Sprintf(format, args...)})
}

// read turns rows into the record that the checks know.
func (c *evidenceCheck) read() error {
	var faults []error
	refunds := evidenceRows[evRefund](c.doc, "refunds", &faults)
	c.journal = evidenceRows[evEntry](c.doc, "journal", &faults)
	effects, postings := evidenceRows[evEffect](c.doc, "effects", &faults), evidenceRows[evPosting](c.doc, "postings", &faults)
	c.postings, c.receipts = postings, evidenceRows[evReceipt](c.doc, "receipts", &faults)
	dispatches, deaths := evidenceRows[evidenceDispatch](c.doc, "dispatches", &faults), evidenceRows[evidenceRetirement](c.doc, "retired_dispatches", &faults)
	attempts := evidenceRows[evAttempt](c.doc, "attempts", &faults)
	cases, decisions, actors := evidenceRows[evCase](c.doc, "cases", &faults), evidenceRows[evDecision](c.doc, "decisions", &faults),
		evidenceRows[evActor](c.doc, "actors", &faults)
	contracts := evidenceRows[evContract](c.doc, "contracts", &faults)
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if len(refunds) != 1 || refunds[0].RefundID != c.doc.RefundID {
		return fmt.Errorf("%w: it has not the one refund that it names", ErrEvidence)
	}
	c.refund(refunds[0], cases)
	c.owners(refunds[0])
	c.people(cases, decisions, actors)
	retired := map[int]bool{}
	for _, d := range deaths {
		retired[d.No] = true
		c.papers.Retirements = append(c.papers.Retirements, audit.StoredRetirement{No: d.No, ByDecision: d.Decision != nil, At: d.At})
	}
	for _, d := range dispatches {
		c.r.Dispatches = append(c.r.Dispatches, refund.Dispatch{Ordinal: d.No, Number: d.Number, KeyExpiresAt: pg.Deref(d.KeyExpiresAt),
			AbsenceCountsFrom: pg.Deref(d.AbsenceCountsFrom),
			Exposed:           d.Exposed, Overridden: d.OverriddenBy != nil, FinalNegativeAt: pg.Deref(d.FinalNegativeAt), LostSendUntil: pg.Deref(d.MayActUntil),
			MarkedEpoch:  pg.Deref(d.MarkedEpoch),
			Acknowledged: d.Acknowledged, ChannelRefundID: pg.Deref(d.ChannelRefundID), Retired: retired[d.No]})
	}
	for _, a := range attempts {
		c.r.Attempts = append(c.r.Attempts, refund.Attempt{No: a.No, DispatchNo: a.DispatchNo, Kind: refund.AttemptKind(a.Kind), Epoch: a.Epoch,
			Generation:      a.Generation,
			ContractVersion: a.ContractVersion, StartedAt: a.StartedAt, NotAfter: a.NotAfter, AnsweredAt: pg.Deref(a.AnsweredAt),
			Answer: refund.FactKind(pg.Deref(a.Answer))})
	}
	for _, e := range effects {
		if e.RID != nil { // the others are lines of the payment
			c.r.Effects = append(c.r.Effects, refund.Effect{ID: e.ID, Ours: true, DispatchNo: pg.Deref(e.DispatchNo), ChannelRefundID: pg.Deref(e.ChannelRefundID),
				Amount:   e.Amount,
				Currency: e.Currency, Counted: e.Counted, Status: refund.EffectStatus(e.Status), ByPerson: e.Source == pg.SourcePerson, At: e.At,
				ReversedAt: pg.Deref(e.ReversedAt)})
		}
	}
	c.contracts = map[int]refund.Contract{}
	for _, k := range contracts {
		k.Contract.Version = k.Version
		c.contracts[k.Version] = k.Contract
	}
	return nil
}

func (c *evidenceCheck) refund(r evRefund, cases []evCase) {
	out := &c.r
	out.RID, out.Account, out.State, out.Exposed = r.RID, r.Account, r.State, r.Exposed
	out.Params = refund.Params{RefundID: r.RefundID, OrderID: r.OrderID, PaymentID: r.PaymentID, Amount: r.Amount, Currency: r.Currency}
	out.Epoch, out.Generation, out.DispatchNo, out.AttemptNo, out.JournalSeq = r.Epoch, r.Generation, r.DispatchNo, r.AttemptNo, r.JournalSeq
	out.TenantCode, out.Installation, out.Now = c.doc.Tenant, c.doc.Installation, c.doc.ExportedAt
	out.Exponent = r.Exponent
	out.CreatedAt, out.StateSince, out.FinalAt, out.AskNo = r.CreatedAt, r.StateSince, pg.Deref(r.FinalAt), pg.Deref(r.AskNo)
	out.Failure = refund.Failure{Code: pg.Deref(r.Failure), ChannelCode: pg.Deref(r.ChannelCode)}
	copy(out.Digest[:], r.Digest)
	copy(out.JournalHead[:], r.JournalHead)
	if r.CaseID == nil {
		return
	}
	out.Case = &refund.Case{}
	for _, k := range cases {
		if k.ID == *r.CaseID && k.ClosedAt == nil && pg.Deref(k.RID) == r.RID {
			out.Case.Reasons = k.Reasons
			return
		}
	}
	c.found("P4", "case-of-refund", "points to a case that is missing, closed or of another refund")
}

// money: effects belong to numbers that exist, agree with the state, and are posted once and mirrored once.
func (c *evidenceCheck) money() {
	moved, back := 0, 0
	for _, ours := range c.r.Effects {
		if _, ok := c.r.Dispatch(ours.DispatchNo); !ok {
			c.found("P8", "effect-without-dispatch", "effect %s belongs to dispatch %d, which does not exist", ours.ID, ours.DispatchNo)
		}
		switch ours.Status {
		case refund.EffectMoved:
			moved++
		case refund.EffectReversed:
			back++
		case refund.EffectHeld, refund.EffectDropped: // lines that are nobody's, or not ours any more
		}
		c.posted(ours)
	}
	for _, a := range c.r.Attempts {
		if a.Answer == refund.Succeeded && len(c.r.Effects) == 0 {
			c.found("P8", "success-unbooked", "attempt %d was answered with success and nothing is booked", a.No)
		}
	}
	if (c.r.State == refund.StateSuccess) != (moved > 0) || (c.r.State == refund.StateReversed && back == 0) {
		c.found("P8", "state-without-effect", "%s with %d effects that stand and %d that were returned", c.r.State, moved, back)
	}
}

func (c *evidenceCheck) posted(e refund.Effect) {
	var made, mirrored []evPosting
	expense, asset := "refunds:"+c.r.Account, "channel:"+c.r.Account
	for _, p := range c.postings {
		from, into := p.Debit, p.Credit
		if p.Kind != "REFUND" {
			from, into = into, from
		}
		if p.EffectID == e.ID && (from != expense || into != asset) {
			c.found("P9", "posting-accounts", "%s of effect %s takes from %s and gives to %s", p.Kind, e.ID, p.Debit, p.Credit)
		}
		switch {
		case p.EffectID != e.ID:
		case p.Amount != e.Amount || p.Currency != e.Currency:
			c.found("P9", "posting-amount", "effect %s is posted as %d %s", e.ID, p.Amount, p.Currency)
		case p.Kind == "REFUND":
			made = append(made, p)
		default:
			mirrored = append(mirrored, p)
		}
	}
	want := 0
	if e.Status == refund.EffectReversed {
		want = 1
	}
	if len(made) != 1 || len(mirrored) != want {
		c.found("P9", "posting-missing", "effect %s is %s, but posted %d times and mirrored %d times", e.ID, e.Status, len(made), len(mirrored))
	} else if want == 1 && (made[0].Debit != mirrored[0].Credit || made[0].Credit != mirrored[0].Debit) {
		c.found("P9", "posting-mirror", "the mirror of effect %s does not take back what was posted", e.ID)
	}
}

// intake: one receipt made it, unless that is too old to be kept, and none says other parameters.
func (c *evidenceCheck) intake() {
	accepted := 0
	for _, x := range c.receipts {
		if x.Outcome != string(intake.Taken) && x.Outcome != string(intake.Replayed) {
			continue
		}
		if x.Outcome == string(intake.Taken) {
			accepted++
		}
		if !bytes.Equal(x.Digest, c.r.Digest.Bytes()) {
			c.found("P6", "receipt-digest", "the receipt of event %s has other parameters", x.EventID)
		}
	}
	if old := !c.r.CreatedAt.After(c.doc.ExportedAt.Add(-keptReceipts)); accepted > 1 || (accepted == 0 && !old) {
		c.found("P5", "refund-without-receipt", "%d receipts made it", accepted)
	}
}
