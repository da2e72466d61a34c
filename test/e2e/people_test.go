package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// caseShape is the part of GET /v1/cases/{id} that people use.
type caseShape struct {
	Case struct {
		ID, RefundID, State string
		Version             int64
		Reasons             []string
		ClosedHow           *string
	}
	Choices []struct {
		Action  string
		Allowed bool
		Why     *string
		Detail  *string
	}
	Proposal *decisionShape
}

type decisionShape struct {
	ID, Status, Maker string
	Checker           *string
}

// people are two actors: ann decides, bob approves.
type people struct {
	t        *testing.T
	ann, bob *harness.Client
}

func (p people) must(ctx context.Context, c *harness.Client, method, path string, body any, want int, into any) {
	p.t.Helper()
	res, ok := c.Send(ctx, method, path, nil, body)
	if !ok || res.Status != want {
		p.t.Fatalf("%s %s: status %d, want %d: %s", method, path, res.Status, want, res.Body)
	}
	if into != nil {
		res.Into(p.t, into)
	}
}

func (p people) refused(ctx context.Context, c *harness.Client, path string, body any, status int, code string) {
	p.t.Helper()
	res, ok := c.Send(ctx, http.MethodPost, path, nil, body)
	if !ok || res.Status != status || res.Problem(p.t).Code != code {
		p.t.Errorf("POST %s: status %d, want %d %s: %s", path, res.Status, status, code, res.Body)
	}
}

// stuck requests a refund at a channel that proves nothing, and returns the resulting case.
func (p people) stuck(ctx context.Context, id string) caseShape {
	p.t.Helper()
	p.ann.Accept(ctx, on("demo-blind", request(id, 100, 100)))
	p.ann.Until(ctx, id, 30*time.Second, "a case", func(r harness.Refund) bool { return r.State == "UNKNOWN" && r.Case != nil })
	var page struct{ Items []struct{ ID string } }
	p.must(ctx, p.ann, http.MethodGet, "/v1/cases?reason=no-automatic-step&refundId="+id, nil, http.StatusOK, &page)
	if len(page.Items) != 1 {
		p.t.Fatalf("%d open cases of %s", len(page.Items), id)
	}
	return p.look(ctx, page.Items[0].ID)
}

func (p people) look(ctx context.Context, id string) (out caseShape) {
	p.t.Helper()
	p.must(ctx, p.bob, http.MethodGet, "/v1/cases/"+id, nil, http.StatusOK, &out)
	return out
}

// decide has ann propose and bob approve, and waits until the decision has taken effect.
func (p people) decide(ctx context.Context, c caseShape, action string) {
	p.t.Helper()
	path := "/v1/cases/" + c.Case.ID
	proposal := map[string]any{"action": action, "evidence": "bank portal, export 4711", "version": c.Case.Version}
	var d, again decisionShape
	p.must(ctx, p.ann, http.MethodPost, path+"/decision", proposal, http.StatusCreated, &d)
	p.must(ctx, p.ann, http.MethodPost, path+"/decision", proposal, http.StatusOK, &again)
	if d.ID != again.ID || d.Status != "proposed" || d.Maker != "demo" {
		p.t.Errorf("proposed %+v, again %+v", d, again)
	}
	if got := p.look(ctx, c.Case.ID).Proposal; got == nil || got.ID != d.ID {
		p.t.Errorf("the case shows the proposal %+v", got)
	}
	approval := map[string]any{"verdict": "approve", "decisionId": d.ID}
	p.refused(ctx, p.ann, path+"/approval", approval, http.StatusForbidden, "approver-is-maker")
	p.must(ctx, p.bob, http.MethodPost, path+"/approval", approval, http.StatusOK, &d)
	for end := time.Now().Add(30 * time.Second); d.Status != "applied"; { // it waits until no earlier request can execute any more
		if d.Status != "approved" || time.Now().After(end) {
			p.t.Fatalf("%s of %s is %+v", action, c.Case.RefundID, d)
		}
		p.must(ctx, p.bob, http.MethodPost, path+"/approval", approval, http.StatusOK, &d)
	}
	if d.Checker == nil || *d.Checker != "approver" {
		p.t.Errorf("approved by %v", d.Checker)
	}
	how := p.look(ctx, c.Case.ID).Case.ClosedHow
	if how == nil || *how != "decision:"+action {
		p.t.Errorf("closed by %v", how)
	}
	p.refused(ctx, p.ann, path+"/decision", map[string]any{"action": "wait", "evidence": "bank portal, export 4712"}, http.StatusConflict, "case-closed")
}

// TestPeopleDecide has two people decide over REST what no channel can prove, and compares the result with the simulator's
// record.
func TestPeopleDecide(t *testing.T) {
	t.Parallel()
	d := harness.StartDev(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	p := people{t: t, ann: d.Client(), bob: d.ClientWith(d.Info().ApproverKey)}
	d.Sim().SetRules(ctx, harness.Rule{Fault: "lost-after", Account: "demo-blind", RefundID: "moved"}, harness.Rule{Fault: "lost-before",
		Account: "demo-blind", RefundID: "nothing"})

	moved := p.stuck(ctx, "moved")
	for _, choice := range moved.Choices {
		want := map[string]string{"resend": "cannot-ask", "accept-as-is": "not-ended", "revoke-confirmation": "not-confirmed-by-person"}[choice.Action]
		if choice.Allowed != (want == "") || (want != "" && (choice.Why == nil || *choice.Why != want || choice.Detail == nil)) {
			t.Errorf("choice %+v, want it blocked by %q", choice, want)
		}
	}
	p.refused(ctx, p.ann, "/v1/cases/"+moved.Case.ID+"/decision", map[string]any{"action": "resend", "evidence": "try it again"}, http.StatusConflict,
		"decision-not-allowed")
	p.refused(ctx, p.ann, "/v1/cases/"+moved.Case.ID+"/decision", map[string]any{"action": "wait", "evidence": "ticket 4711",
		"version": moved.Case.Version + 1}, http.StatusConflict, "decision-void")
	p.decide(ctx, moved, "confirm-success")
	p.ann.UntilState(ctx, "moved", "SUCCESS", 10*time.Second)
	if pay := p.ann.Payment(ctx, "pay-moved"); pay.Refunded != 100 || pay.Reserved != 0 {
		t.Errorf("%+v", pay)
	}

	p.decide(ctx, p.stuck(ctx, "nothing"), "confirm-not-done")
	p.ann.UntilState(ctx, "nothing", "FAILED", 10*time.Second)
	if pay := p.ann.Payment(ctx, "pay-nothing"); pay.Refunded != 0 || pay.Reserved != 0 {
		t.Errorf("%+v", pay)
	}
	if effects := fmt.Sprint(len(d.Sim().EffectsOf(ctx, "moved")), len(d.Sim().EffectsOf(ctx, "nothing"))); effects != "1 0" {
		t.Errorf("effects at the channel: %s, want 1 and 0", effects)
	}
	p.refused(ctx, p.bob, "/v1/cases/018f6f4e-7c00-7000-8000-0000000000aa/approval", map[string]any{"verdict": "reject",
		"decisionId": "018f6f4e-7c00-7000-8000-0000000000dd"}, http.StatusNotFound, "not-found")
	d.DB().CheckPromises(ctx)
	harness.Verify(t, d.Info().DatabaseURL)
}
