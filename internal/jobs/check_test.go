package jobs

import (
	"errors"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

func TestCheckNow(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	b.channel.onSend = func(int, refund.Call, func() string) refund.Answer {
		return refund.Answer{Kind: refund.RefusedClean, Code: "closed"}
	}
	r := b.start(t)
	k := b.accept(t, 1)[0]
	b.wantAll(t, []refund.RefundRef{k}, refund.StateFailed)
	if err := r.CheckNow(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if got := b.load(t, k); got.State != refund.StateFailed || got.AttemptNo != 2 || got.Attempts[1].Answer != refund.NotFound || got.JournalSeq != 3 {
		t.Errorf("%s, attempts %+v: an absence changes nothing here", got.State, got.Attempts)
	}
	b.channel.mu.Lock()
	b.channel.effect(b.load(t, k).Dispatches[0].Number)
	b.channel.mu.Unlock()
	if err := r.CheckNow(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if got := b.load(t, k); got.State != refund.StateSuccess || !got.Case.Has(refund.CaseSuccessAfterEnd) {
		t.Errorf("%s, case %+v: the money that moved must be booked, with a case", got.State, got.Case)
	}
	if err := r.CheckNow(t.Context(), refund.RefundRef{Tenant: k.Tenant + 1, RID: k.RID}); !errors.Is(err, refund.ErrNotFound) {
		t.Errorf("another tenant's refund: %v", err)
	}
}
