package verify

import (
	"encoding/json"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
)

// people turns cases and decisions into the review records of the fold. A decision without its case is checked with those of the refund:
// the journal must agree with it all the same.
func (c *evidenceCheck) people(cases []evCase, decisions []evDecision, actors []evActor) {
	names, ofPayment := map[int64]string{}, map[refund.RID]bool{}
	for _, a := range actors {
		names[a.ID] = a.Name
	}
	for _, k := range cases {
		ofPayment[k.ID] = k.RID == nil
		if k.RID != nil {
			c.papers.Cases = append(c.papers.Cases, audit.StoredCase{ID: k.ID, OpenedAt: k.OpenedAt, ClosedAt: pg.Deref(k.ClosedAt)})
		}
	}
	for _, x := range decisions {
		d := refund.Decision{ID: x.ID, CaseID: x.CaseID, Action: refund.Action(x.Action), EffectID: pg.Deref(x.EffectID), Maker: names[x.Maker], MadeAt: x.MadeAt,
			AppliedAt: pg.Deref(x.AppliedAt), JournalSeq: pg.Deref(x.Seq),
			Verdict: refund.DecisionVerdict(pg.Deref(x.Verdict))}
		if x.Checker != nil {
			d.Checker = names[*x.Checker]
		}
		if ofPayment[x.CaseID] {
			c.decisions = append(c.decisions, d)
		} else {
			c.papers.Decisions = append(c.papers.Decisions, d)
		}
	}
}

// ofPayment: a decision about the payment has no journal; what took effect was approved all the same.
func (c *evidenceCheck) ofPayment(d refund.Decision) {
	if !d.AppliedAt.IsZero() && (d.Verdict != refund.DecisionApproved || d.Checker == "" || d.Checker == d.Maker) {
		c.found("P8", "decision-unproven", "decision %s took effect without the approval of another actor", d.ID)
	}
}

// owners: every row is of the refund's tenant, and of no other refund. A conflict may name the refund that its event is bound to.
func (c *evidenceCheck) owners(r evRefund) {
	for table, rows := range c.doc.Tables {
		for i, raw := range rows {
			var x evOwner
			if err := json.Unmarshal(raw, &x); err != nil {
				c.found("P12", "row-elsewhere", "table %s row %d has no owner that can be read", table, i+1)
				continue
			}
			if (x.TenantID != nil && *x.TenantID != r.TenantID) || (x.RID != nil && *x.RID != r.RID && table != "conflicts") {
				c.found("P12", "row-elsewhere", "table %s row %d is of another tenant or refund", table, i+1)
			}
		}
	}
}
