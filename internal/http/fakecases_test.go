package httpapi_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/access"
	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
)

// fakeCases records calls and returns the values that the test sets.
type fakeCases struct {
	*fakeBackend
	mu        sync.Mutex
	rows      []refund.CaseRow
	view      refund.CaseView
	err       error
	created   bool
	query     refund.CaseFilter
	proposals []refund.Proposal
	approvals []refund.Approval
	reviews   []string
}

func (c *fakeCases) ListCases(_ context.Context, _ refund.TenantID, q refund.CaseFilter) ([]refund.CaseRow, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.query = q
	var out []refund.CaseRow
	for _, r := range c.rows {
		if len(out) < q.Limit && r.OpenedAt.After(q.After.OpenedAt) {
			out = append(out, r)
		}
	}
	return out, c.err
}

func (c *fakeCases) FindCase(_ context.Context, tenant refund.TenantID, id refund.RID) (refund.CaseView, error) {
	if tenant != 1 || c.view.ID != id {
		return refund.CaseView{}, refund.ErrNotFound
	}
	return c.view, c.err
}

func (c *fakeCases) OpenCase(_ context.Context, tenant refund.TenantID, refundID, evidence, actor string) (refund.RID, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reviews = append(c.reviews, refundID+" "+evidence+" "+actor)
	if tenant != 1 || refundID == "none" {
		return refund.RID{}, false, refund.ErrNotFound
	}
	return c.view.ID, c.created, c.err
}

func (c *fakeCases) Propose(_ context.Context, p refund.Proposal) (refund.Decision, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proposals = append(c.proposals, p)
	return refund.Decision{ID: refund.RID{15: 2}, CaseID: p.CaseID, Action: p.Action, Evidence: p.Evidence, EffectID: p.EffectID, JournalSeq: 4, Maker: p.Actor,
		MadeAt: epoch, ExpiresAt: epoch.Add(24 * time.Hour)}, c.created, c.err
}

func (c *fakeCases) Judge(_ context.Context, a refund.Approval) (refund.Decision, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.approvals = append(c.approvals, a)
	return refund.Decision{ID: a.DecisionID, CaseID: a.CaseID, Action: refund.ActionAcceptAsIs, Excess: 7, Evidence: "ticket 4711", Maker: "ann", MadeAt: epoch,
		ExpiresAt: epoch, Verdict: refund.DecisionApproved, Checker: a.Actor, CheckedAt: epoch, AppliedAt: epoch}, c.err
}

func serveCases(t *testing.T) (*fakeCases, *client) {
	t.Helper()
	var at *fakeCases
	_, c := serve(t, func(w *fakeBackend, cfg *httpapi.Config) {
		at = &fakeCases{fakeBackend: w}
		cfg.Cases = at
		for key, scope := range map[string]string{decideKey: access.ScopeCasesDecide, approveKey: access.ScopeCasesApprove} {
			prefix, rec := keyRecord(t, key, refund.Tenant{ID: 1, Code: "demo"}, scope)
			w.keys[prefix] = rec
		}
	})
	return at, c
}
