package store

import (
	"errors"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

func TestEnterSuccessBooksOnce(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	ch := f.enter(t, k, succeeded(c, "ch_1"))
	r := f.wantState(t, k, refund.StateSuccess)
	if ch.After.JournalHead != r.JournalHead || ch.After.JournalSeq != r.JournalSeq {
		t.Error("the change's journal head must be the row's")
	}
	if p := r.Payment; p.Reserved != 0 || p.Refunded != 100 {
		t.Errorf("reserved %d, refunded %d, want 0 and 100", p.Reserved, p.Refunded)
	}
	if r.Exposed || !r.NextActionAt.IsZero() || r.ChannelRefundID != "ch_1" || len(r.Effects) != 1 || len(r.Facts) != 1 {
		t.Errorf("%+v, effects %+v", r.Refund, r.Effects)
	}
	if again := f.enter(t, k, succeeded(c, "ch_1")); !again.Known || again.After.JournalSeq != r.JournalSeq {
		t.Error("an attempt is answered once: the second answer is known and changes nothing")
	}
	notice := refund.Fact{Kind: refund.Succeeded, ChannelRefundID: "ch_1", Amount: 100, Currency: "USD", Source: "notice", Actor: "system:notices"}
	if again := f.enter(t, k, notice); !again.Known || len(again.Steps) != 0 {
		t.Error("the same fact by another way is known")
	}
	if jobs := f.jobs.take(); len(jobs) != 0 {
		t.Errorf("nothing is left to do, but %v was enqueued", jobs)
	}
	f.wantSound(t)
}

func TestEnterFollowUpJobs(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	f.enter(t, k, answered(c, refund.Unknown))
	r := f.wantState(t, k, refund.StateUnknown)
	if jobs := f.jobs.take(); len(jobs) != 1 || jobs[0].Generation != r.Generation || jobs[0].RefundRef != k {
		t.Errorf("jobs %v, want one for the question that is due at once", jobs)
	}
	q := f.claim(t, k, refund.AttemptQuery, 10*time.Second)
	f.enter(t, k, answered(q, refund.NotFound)) // too early to count
	r = f.wantState(t, k, refund.StateUnknown)
	if !r.LeaseEndsAt.IsZero() || !r.NextActionAt.After(r.Now) || len(f.jobs.take()) != 0 {
		t.Errorf("lease %s, timer %s: the answer gives the lease back, the timer runs to the next question, no job", r.LeaseEndsAt, r.NextActionAt)
	}
	f.wantSound(t)
}

func TestEnterNegativeAnswers(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	for _, c := range []struct {
		answer   refund.FactKind
		code     string
		state    refund.State
		dispatch int
	}{
		{refund.RefusedClean, "no_such_charge", refund.StateFailed, 1},
		{refund.Retryable, "busy", refund.StatePending, 1},
		{refund.NotSent, "", refund.StatePending, 1},
		{refund.RefusedNewNumber, "number_used", refund.StatePending, 2},
		{refund.RefusedEcho, "already_refunded", refund.StateUnknown, 1},
		{refund.FailedFinal, "closed", refund.StateFailed, 1},
		{refund.Acknowledged, "", refund.StateAccepted, 1},
	} {
		k := f.refund(t, "rf_"+string(c.answer))
		claimed := f.claim(t, k, refund.AttemptSend, 10*time.Second)
		fact := answered(claimed, c.answer)
		fact.Code, fact.RetryAfter = c.code, 1500*time.Millisecond
		f.enter(t, k, fact)
		r := f.wantState(t, k, c.state)
		a := r.Attempts[0]
		if r.DispatchNo != c.dispatch || a.Answer != c.answer || a.Code != c.code || a.RetryAfter != 1500*time.Millisecond {
			t.Errorf("%s: dispatch %d, attempt %+v", c.answer, r.DispatchNo, a)
		}
		if c.state == refund.StateFailed && (r.Failure.ChannelCode != c.code || r.Failure.Code == "") {
			t.Errorf("%s: failure %+v", c.answer, r.Failure)
		}
		if c.dispatch == 2 && (!r.Dispatches[0].Retired || r.Dispatches[1].Number == r.Dispatches[0].Number) {
			t.Errorf("dispatches %+v, want the first retired and a new one", r.Dispatches)
		}
	}
	f.wantSound(t)
}

func TestEnterReturnAndContradiction(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	f.enter(t, k, answered(c, refund.RefusedClean))
	f.wantState(t, k, refund.StateFailed)
	notice := refund.Fact{Kind: refund.Succeeded, ChannelRefundID: "ch_1", Amount: 100, Currency: "USD", Source: "notice", Actor: "system:notices"}
	f.enter(t, k, notice)
	r := f.wantState(t, k, refund.StateSuccess)
	if !r.Case.Has(refund.CaseSuccessAfterEnd) || r.Case.ID.IsZero() || r.NextActionAt.IsZero() {
		t.Errorf("case %+v: want an open case: money moved against the reported state", r.Case)
	}
	back := notice
	back.Kind = refund.Reversed
	f.enter(t, k, back)
	r = f.wantState(t, k, refund.StateReversed)
	if p := r.Payment; p.Refunded != 0 || p.Reserved != 0 || len(r.Effects) != 1 || r.Effects[0].Status != refund.EffectReversed {
		t.Errorf("payment %+v, effects %+v", p, r.Effects)
	}
	f.wantSound(t)

	k = f.refund(t, "both") // the return is told before the success: two transitions, two postings, one transaction
	c = f.claim(t, k, refund.AttemptSend, 10*time.Second)
	f.enter(t, k, answered(c, refund.Unknown))
	back.ChannelRefundID = "ch_2"
	if ch := f.enter(t, k, back); len(ch.Steps) != 2 {
		t.Errorf("%d transitions, want booked and mirrored", len(ch.Steps))
	}
	f.wantState(t, k, refund.StateReversed)
	f.wantSound(t)
}

// Any answer of a channel can be stored: bytes that the database refuses, numbers out of range, endless text.
func TestEnterHostileAnswers(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	long := string(make([]byte, 5000))
	for i, ans := range []refund.Answer{
		{Kind: refund.Succeeded, ChannelRefundID: "id\x00\xff", Amount: 100, Currency: "USD", Code: "a\x00b", Rule: "r\xc3\x28"},
		{Kind: refund.Succeeded, ChannelRefundID: long, Amount: 99, Currency: "usd\x00"},
		{Kind: refund.Succeeded, Amount: 1 << 62, Currency: "USD", ChannelRefundID: "big"},
		{Kind: refund.Succeeded, Amount: -1, Currency: "USD", ChannelRefundID: "neg"},
		{Kind: refund.Unknown, Evidence: []byte(`{"a":"\u0000","b":"\ud800","c":1e999999,"d":[[[{"\u0000":1}]]],"code":7,"retryAfterMs":"x"}`)},
		{Kind: refund.Unknown, Evidence: []byte(`not json ` + long)},
		{Kind: refund.Unknown, Evidence: []byte(`[1,2]`), Code: long},
		{Kind: refund.Unknown, Evidence: []byte(`null`), RetryAfter: 1 << 62},
	} {
		k := f.refunds(t, "rf"+string(rune('a'+i)), 1)[0]
		c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
		f.enter(t, k, refund.FactOf(c.Attempt, ans))
		r := f.load(t, k)
		if r.Attempts[0].Answer == "" || r.State == refund.StateProcessing {
			t.Errorf("answer %d: %s, attempt %+v", i, r.State, r.Attempts[0])
		}
	}
	f.wantSound(t)
}

// A channel that gives one refund id twice: the first refund keeps it, the second answer proves nothing, and both have a case.
func TestEnterChannelRefundIDTwice(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	keys := f.refunds(t, "rf", 2)
	for i, want := range []refund.State{refund.StateSuccess, refund.StateUnknown} {
		f.enter(t, keys[i], succeeded(f.claim(t, keys[i], refund.AttemptSend, 10*time.Second), "ch_same"))
		f.wantState(t, keys[i], want)
	}
	for i, k := range keys {
		if r := f.load(t, k); !r.Case.Has(refund.CaseContradiction) || len(r.Effects) != 1-i {
			t.Errorf("refund %d: effects %+v, case %+v", i, r.Effects, r.Case)
		}
	}
	f.wantSound(t)
}

func TestEnterVoidsProposals(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	f.enter(t, k, answered(c, refund.RefusedClean))
	f.enter(t, k, refund.Fact{Kind: refund.Succeeded, ChannelRefundID: "ch_1", Amount: 100, Currency: "USD", Source: "notice"})
	r := f.load(t, k)
	for _, sql := range []string{
		`INSERT INTO actors (tenant_id, name, kind) SELECT tenant_id, 'ann', 'person' FROM tenants`,
		`INSERT INTO decisions (tenant_id, decision_id, case_id, action, journal_seq, evidence, maker, expires_at)
		 SELECT r.tenant_id, r.rid, r.case_id, 'accept-as-is', r.journal_seq, 'seen in the portal', a.actor_id, now() + interval '1 day' FROM refunds r, actors a`,
	} {
		if _, err := f.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	f.enter(t, k, refund.Fact{Kind: refund.Reversed, ChannelRefundID: "ch_1", Amount: 100, Currency: "USD", Source: "notice"})
	var verdict string
	if err := f.pool.QueryRow(t.Context(), `SELECT coalesce(verdict, 'none') FROM decisions WHERE case_id = $1`,
		[16]byte(r.Case.ID)).Scan(&verdict); err != nil || verdict != "VOID" {
		t.Errorf("verdict %s %v: a later fact voids what was proposed", verdict, err)
	}
	f.wantSound(t)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	for range 2 { // a repeat is no error and changes nothing
		if r, err := f.Cancel(t.Context(), k, "actor:ann"); err != nil || r.State != refund.StateCanceled || r.JournalSeq != 2 {
			t.Fatalf("cancel: %s seq %d %v", r.State, r.JournalSeq, err)
		}
	}
	if r := f.load(t, k); r.Payment.Reserved != 0 {
		t.Errorf("reserved %d after the cancel", r.Payment.Reserved)
	}
	sent := f.refund(t, "sent")
	f.claim(t, sent, refund.AttemptSend, 10*time.Second)
	if _, err := f.Cancel(t.Context(), sent, "actor:ann"); !errors.Is(err, refund.ErrNotCancelable) {
		t.Errorf("cancel of a send in flight: %v", err)
	}
	if _, err := f.Cancel(t.Context(), refund.RefundRef{Tenant: k.Tenant + 1, RID: k.RID}, "actor:eve"); !errors.Is(err, refund.ErrNotFound) {
		t.Errorf("another tenant's refund: %v", err)
	}
	f.wantSound(t)
}
