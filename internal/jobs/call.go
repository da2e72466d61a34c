package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
)

// call makes one call to the channel. It stores the attempt before the call, calls outside any transaction, and enters the
// answer whoever owns the refund by then. A query of a refund that is final or has a case needs no owner, since nothing is
// sent and a claim would void what a person has proposed.
func (r *Runner) call(ctx context.Context, rec refund.Record, kind refund.AttemptKind, no int, ch refund.Channel, c refund.Contract) error {
	if rec.State.Final() || (rec.Case != nil && kind != refund.AttemptSend) {
		return r.ask(ctx, rec, kind, no, ch, c)
	}
	req, claim, err := r.claim(rec, kind, no, c)
	if err != nil {
		return err
	}
	start := r.cfg.Clock() // before the claim is sent, so that the granted time to send ends no later than in the database
	owned, err := r.cfg.Store.Claim(ctx, claim)
	if err != nil {
		return err
	}
	return r.attempt(ctx, rec, owned, start, req, ch, c)
}

// ask makes a call that needs no owner. It never sends a refund.
func (r *Runner) ask(ctx context.Context, rec refund.Record, kind refund.AttemptKind, no int, ch refund.Channel, c refund.Contract) error {
	req, claim, err := r.claim(rec, kind, no, c)
	if err != nil {
		return err
	}
	start := r.cfg.Clock()
	asked, err := r.cfg.Store.Ask(ctx, claim)
	if err != nil {
		return err
	}
	return r.attempt(ctx, rec, asked, start, req, ch, c)
}

func (r *Runner) claim(rec refund.Record, kind refund.AttemptKind, no int, c refund.Contract) (refund.Call, refund.Claim, error) {
	d, ok := rec.Dispatch(no)
	if !ok {
		return refund.Call{}, refund.Claim{}, fmt.Errorf("jobs: refund %s has no dispatch %d", rec.RID, no)
	}
	req := refund.Call{Number: d.Number, RefundID: rec.RefundID, TenantCode: rec.TenantCode, Account: rec.Account, PaymentReference: rec.ChannelReference,
		Amount: rec.Amount, Currency: rec.Currency, Reason: rec.Reason, ChannelRefundID: d.ChannelRefundID,
		PaymentCaptured: rec.Payment.Captured}
	text, err := json.Marshal(req)
	if err != nil {
		return refund.Call{}, refund.Claim{}, fmt.Errorf("jobs: %w", err)
	}
	sum := sha256.Sum256(text)
	t := r.cfg.Times
	return req, refund.Claim{RefundRef: rec.RefundRef, State: rec.State, Generation: rec.Generation, JournalSeq: rec.JournalSeq, Kind: kind, Dispatch: no,
		Contract: c, Lease: t.Lease, Margin: t.Margin, SendWindow: t.SendWindow, ClockMargin: t.ClockMargin, RequestDigest: sum[:]}, nil
}

// attempt makes the call and enters the answer. The end of the lease does not cut off a call under way.
func (r *Runner) attempt(ctx context.Context, rec refund.Record, at refund.Claimed, start time.Time, req refund.Call,
	ch refund.Channel, c refund.Contract) error {
	began := r.cfg.Clock()
	got := callResult{facts: []refund.Fact{refund.FactOf(at.Attempt, refund.Answer{Kind: refund.NotSent, Rule: "past-not-after"})}}
	if inTime(start, began, at.Send) {
		out, cancel := context.WithTimeout(r.cfg.Budget(ctx, start, at.Send), r.cfg.Times.Call)
		before, after := callPoints(at.Kind)
		fault.Point(before)
		got = answers(out, at.Attempt, req, ch)
		fault.Point(after)
		cancel()
	} else if at.Kind != refund.AttemptSend {
		got.facts[0].Kind = refund.Unknown // a query that was not made proves nothing
	}
	if r.cfg.Observer != nil {
		r.cfg.Observer.Called(rec.Account, at.Kind, got.facts[0].Kind, r.cfg.Clock().Sub(began))
	}
	r.watchCredentials(ctx, rec.Account, got, c)
	return r.store(ctx, answered{ref: rec.RefundRef, refundID: rec.RefundID, paymentID: rec.PaymentID, account: rec.Account, number: req.Number,
		callResult: got, contract: c})
}

// callPoints returns the fault points before a call and after its answer.
func callPoints(k refund.AttemptKind) (before, after fault.Name) {
	switch k {
	case refund.AttemptQuery:
		return fault.QueryBefore, fault.QueryAnswered
	case refund.AttemptList:
		return fault.ListBefore, fault.ListAnswered
	case refund.AttemptSend:
	}
	return fault.SendBefore, fault.SendAnswered
}

// inTime compares both the wall clock and the monotonic clock: the monotonic clock stops while a machine is suspended, and
// the wall clock can be set back.
func inTime(start, now time.Time, send time.Duration) bool {
	return now.Sub(start) < send && now.Round(0).Sub(start.Round(0)) < send
}
