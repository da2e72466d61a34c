package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/refundry/refundry/internal/refund"
)

const (
	decideKey  = "rfk_test_Decide01_" + "4123456789012345678901234567890123456789012"
	approveKey = "rfk_test_Approv01_" + "5123456789012345678901234567890123456789012"
)

var (
	caseID   = refund.RID{15: 0xaa}
	casePath = "/v1/cases/" + uuid.UUID(caseID).String()
)

func TestListCases(t *testing.T) {
	t.Parallel()
	at, c := serveCases(t)
	for i := range 3 {
		at.rows = append(at.rows, refund.CaseRow{
			CaseRef:  refund.CaseRef{ID: refund.RID{15: byte(i + 1)}, OpenedAt: epoch.Add(time.Duration(i) * time.Minute)},
			RefundID: "rf_1", PaymentID: "pay_77", State: refund.StateUnknown, Version: 4, Account: "demo", Amount: 1250, Currency: "USD",
			Reasons: []refund.CaseReason{refund.CaseNoStep},
		})
	}
	at.rows[2].RefundID, at.rows[2].State, at.rows[2].Version = "", "", 0 // a case of a payment
	var page struct {
		Items []struct {
			ID       string
			RefundID *string
			State    *string
		}
		NextCursor *string
		HasMore    bool
	}
	get := func(query string) {
		t.Helper()
		r := c.do("GET", "/v1/cases?limit=2&reason=no-automatic-step"+query, "")
		page.NextCursor = nil
		if err := json.Unmarshal([]byte(r.body), &page); err != nil || r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	get("")
	if len(page.Items) != 2 || !page.HasMore || page.NextCursor == nil || *page.Items[0].State != "UNKNOWN" {
		t.Fatalf("%+v", page)
	}
	cursor := *page.NextCursor
	get("&cursor=" + cursor)
	if len(page.Items) != 1 || page.HasMore || page.Items[0].RefundID != nil || page.Items[0].State != nil {
		t.Errorf("%+v", page)
	}
	if at.query.Reason != refund.CaseNoStep || at.query.Closed || at.query.After.ID != (refund.RID{15: 2}) {
		t.Errorf("%+v", at.query)
	}
	for name, path := range map[string]string{"other filters": "/v1/cases?cursor=" + cursor, "not ours": "/v1/cases?cursor=abc"} {
		if r := c.do("GET", path, ""); r.status != http.StatusBadRequest || !strings.Contains(r.body, `"invalid-cursor"`) {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if r := c.do("GET", "/v1/cases?state=maybe", ""); r.status != http.StatusBadRequest {
		t.Errorf("%d %s", r.status, r.body)
	}
	if c.do("GET", "/v1/cases?state=closed&refundId=rf_1&paymentId=pay_77", ""); !at.query.Closed || at.query.RefundID != "rf_1" ||
		at.query.PaymentID != "pay_77" {
		t.Errorf("%+v", at.query)
	}
}

func TestGetCase(t *testing.T) {
	t.Parallel()
	at, c := serveCases(t)
	pending := refund.Decision{ID: refund.RID{15: 3}, CaseID: caseID, Action: refund.ActionWait, Evidence: "ticket 4711", Maker: "ann",
		MadeAt: epoch, ExpiresAt: epoch}
	void := pending
	void.ID, void.Evidence, void.Verdict, void.CheckedAt = refund.RID{15: 2}, "ticket 4710", refund.DecisionVoid, epoch
	at.view = refund.CaseView{
		CaseRow: refund.CaseRow{CaseRef: refund.CaseRef{ID: caseID, OpenedAt: epoch}, RefundID: "rf_1", PaymentID: "pay_77", State: refund.StateUnknown,
			Version: 4, Account: "demo", Amount: 1250, Currency: "USD", Reasons: []refund.CaseReason{refund.CaseUnmatchedLine}},
		Choices: []refund.Choice{
			{Action: refund.ActionConfirmSuccess, Allowed: true, From: epoch, Lines: []refund.RID{{15: 5}}},
			{Action: refund.ActionResend, Why: refund.ObstacleCannotAsk},
		},
		Decisions: []refund.Decision{pending, void},
		Lines: []refund.EffectRow{{Source: "list", Effect: refund.Effect{
			ID: refund.RID{15: 5}, ChannelRefundID: "re_1", Amount: 1250, Currency: "USD", Status: refund.EffectHeld, At: epoch}}},
		Payment: refund.Payment{PaymentID: "pay_77", OrderID: "ord_77", Currency: "USD", Account: "demo", Reference: "ch_77",
			KnownBy: refund.BySnapshot, Captured: 10000, CreatedAt: epoch},
		KeyExpiresAt: epoch.Add(time.Hour),
	}
	r := c.do("GET", casePath, "")
	for _, part := range []string{`"proposal":{"id":"00000000-0000-0000-0000-000000000003"`, `"status":"void"`, `"why":"cannot-ask"`,
		`"detail":"The channel cannot be queried`,
		`"effectIds":["00000000-0000-0000-0000-000000000005"]`, `"takesEffectAt":"2026-03-01T10:00:00Z"`, `"evidence":{}`,
		`"keyExpiresAt":"2026-03-01T11:00:00Z"`} {
		if r.status != http.StatusOK || !strings.Contains(r.body, part) {
			t.Errorf("%d, %s is missing in %s", r.status, part, r.body)
		}
	}
	if r := c.do("GET", "/v1/cases/"+uuid.NewString(), ""); r.status != http.StatusNotFound {
		t.Errorf("%d", r.status)
	}
	if r := c.do("GET", "/v1/cases/1", ""); r.status != http.StatusBadRequest {
		t.Errorf("%d", r.status)
	}
	if r := c.do("GET", casePath, "", "Authorization", "Bearer "+otherTenantKey); r.status != http.StatusNotFound {
		t.Errorf("status %d for another tenant, want 404", r.status)
	}
}

func TestProposeAndJudge(t *testing.T) {
	t.Parallel()
	at, c := serveCases(t)
	at.created = true
	decide := func(body string) reply {
		return c.do("POST", casePath+"/decision", body, "Authorization", "Bearer "+decideKey)
	}
	good := `{"action":"confirm-success","evidence":"ticket 4711","effectId":"018f6f4e-7c00-7000-8000-0000000000ee","bothHappened":true,"version":4}`
	if r := decide(good); r.status != http.StatusCreated || !strings.Contains(r.body, `"status":"proposed"`) || !strings.Contains(r.body, `"maker":"shop"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if p := at.proposals[0]; p.CaseID != caseID || p.Actor != "shop" || p.Version != 4 || p.EffectID.IsZero() || !p.BothHappened || p.Tenant != 1 {
		t.Errorf("%+v", p)
	}
	at.created = false
	if r := decide(good); r.status != http.StatusOK {
		t.Errorf("status %d of a repeat, want 200", r.status)
	}
	before := len(at.proposals)
	for name, body := range map[string]string{
		"no evidence":    `{"action":"wait"}`,
		"short evidence": `{"action":"wait","evidence":"because"}`,
		"blanks":         `{"action":"wait","evidence":"  because   "}`,
		"unknown action": `{"action":"shrug","evidence":"ticket 4711"}`,
		"unknown member": `{"action":"wait","evidence":"ticket 4711","force":true}`,
		"no uuid":        `{"action":"wait","evidence":"ticket 4711","effectId":"x"}`,
		"version 0":      `{"action":"wait","evidence":"ticket 4711","version":0}`,
		"no JSON":        `{`,
	} {
		if r := decide(body); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if len(at.proposals) != before {
		t.Error("a bad request reached the store")
	}
	approve := func(key string) reply {
		return c.do("POST", casePath+"/approval", `{"verdict":"approve","decisionId":"018f6f4e-7c00-7000-8000-0000000000dd"}`, "Authorization", "Bearer "+key)
	}
	if r := approve(approveKey); r.status != http.StatusOK || !strings.Contains(r.body, `"status":"applied"`) || !strings.Contains(r.body, `"excess":7`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if a := at.approvals[0]; !a.Approve || a.Actor != "shop" || a.CaseID != caseID {
		t.Errorf("%+v", a)
	}
	if r := approve(decideKey); r.status != http.StatusForbidden || !strings.Contains(r.body, "cases:approve") {
		t.Errorf("%d %s, want 403: cases:decide does not include cases:approve", r.status, r.body)
	}
	if r := c.do("POST", casePath+"/decision", good, "Authorization", "Bearer "+approveKey); r.status != http.StatusForbidden {
		t.Errorf("status %d, want 403: cases:approve does not include cases:decide", r.status)
	}
}

func TestOpenCase(t *testing.T) {
	t.Parallel()
	at, c := serveCases(t)
	at.created, at.view = true, refund.CaseView{CaseRow: refund.CaseRow{CaseRef: refund.CaseRef{ID: caseID, OpenedAt: epoch}, RefundID: "rf_1", PaymentID: "pay_77",
		State: refund.StateSuccess, Version: 4, Account: "demo", Amount: 1250, Currency: "USD", Reasons: []refund.CaseReason{refund.CaseReview}},
		Payment: refund.Payment{PaymentID: "pay_77", OrderID: "ord_77", Currency: "USD", Account: "demo", Reference: "ch_77", KnownBy: refund.BySnapshot,
			Captured: 10000, CreatedAt: epoch}}
	open := func(id, body, key string) reply {
		return c.do("POST", "/v1/refunds/"+id+"/cases", body, "Authorization", "Bearer "+key)
	}
	const good = `{"evidence":"statement of 2 March"}`
	if r := open("rf_1", good, decideKey); r.status != http.StatusCreated || !strings.Contains(r.body, `"reasons":["review-requested"]`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if at.reviews[0] != "rf_1 statement of 2 March shop" {
		t.Errorf("%q", at.reviews[0])
	}
	at.created = false
	if r := open("rf_1", good, decideKey); r.status != http.StatusOK {
		t.Errorf("status %d of a repeat, want 200", r.status)
	}
	if r := open("none", good, decideKey); r.status != http.StatusNotFound {
		t.Errorf("status %d for an unknown refund, want 404", r.status)
	}
	if r := open("rf_1", good, approveKey); r.status != http.StatusForbidden {
		t.Errorf("status %d, want 403: cases:approve does not include cases:decide", r.status)
	}
	for name, body := range map[string]string{"no evidence": `{}`, "short": `{"evidence":"because"}`, "blanks": `{"evidence":"  because   "}`,
		"unknown member": `{"evidence":"ticket 4711","force":true}`, "no JSON": `{`} {
		if r := open("rf_1", body, decideKey); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
}

// Every error has its code and status. The client checks that the contract lists them.
func TestCaseProblems(t *testing.T) {
	t.Parallel()
	at, c := serveCases(t)
	decide := func() reply {
		return c.do("POST", casePath+"/decision", `{"action":"resend","evidence":"ticket 4711"}`, "Authorization", "Bearer "+decideKey)
	}
	judge := func() reply {
		return c.do("POST", casePath+"/approval", `{"verdict":"reject","decisionId":"018f6f4e-7c00-7000-8000-0000000000dd"}`, "Authorization", "Bearer "+approveKey)
	}
	for name, w := range map[string]struct {
		err    error
		do     func() reply
		status int
		text   string
	}{
		"case closed": {&refund.Problem{Code: refund.CodeCaseClosed}, decide, 409, "case-closed"},
		"not allowed": {&refund.NotAllowed{Action: refund.ActionResend, Why: refund.ObstacleAcknowledged}, decide, 409,
			"The channel has acknowledged this refund"},
		"another pending":  {&refund.Problem{Code: refund.CodeDecisionPending}, decide, 409, "decision-pending"},
		"older version":    {&refund.Problem{Code: refund.CodeDecisionVoid}, decide, 409, "decision-void"},
		"no such case":     {refund.ErrNotFound, decide, 404, "not-found"},
		"locked":           {refund.ErrBusy, decide, 409, "operation-in-progress"},
		"own proposal":     {&refund.Problem{Code: refund.CodeApproverIsMaker}, judge, 403, "approver-is-maker"},
		"stale":            {&refund.Problem{Code: refund.CodeDecisionVoid}, judge, 409, "decision-void"},
		"judged":           {&refund.Problem{Code: refund.CodeDecisionJudged}, judge, 409, "decision-judged"},
		"no such decision": {refund.ErrNotFound, judge, 404, "not-found"},
		"account unknown":  {refund.ErrNoChannel, judge, 503, "unavailable"},
		"unavailable":      {refund.ErrUnavailable, judge, 503, "unavailable"},
	} {
		at.err = w.err
		if r := w.do(); r.status != w.status || !strings.Contains(r.body, w.text) {
			t.Errorf("%s: %d %s, want %d %s", name, r.status, r.body, w.status, w.text)
		}
	}
}
