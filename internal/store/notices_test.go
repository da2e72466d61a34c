package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// notice is a notice with a valid signature; text stands for its bytes.
func notice(text, number, id string, status refund.FactKind) refund.KeptNotice {
	return refund.KeptNotice{Notice: refund.Notice{Digest: sha256.Sum256([]byte(text)), Number: number, ChannelRefundID: id, Status: status, Amount: 100,
		Currency: "USD", Code: "as told"}, Headers: map[string][]string{"Content-Type": {"application/json"}}, Body: []byte(text)}
}

func (f *testWorkflow) receive(t *testing.T, n refund.KeptNotice, want refund.NoticeOutcome) {
	t.Helper()
	got, err := f.ReceiveNotice(t.Context(), "demo", n)
	if err != nil || got != want {
		t.Fatalf("%s: %s, %v, want %s", n.Body, got, err, want)
	}
}

func (f *testWorkflow) number(t *testing.T, k refund.RefundRef) string {
	t.Helper()
	r := f.load(t, k)
	return r.Dispatches[r.DispatchNo-1].Number
}

func (f *testWorkflow) wantNotice(t *testing.T, text string, times int, matched bool) {
	t.Helper()
	var seen int
	var tied bool
	key := sha256.Sum256([]byte(text))
	if err := f.pool.QueryRow(t.Context(), `SELECT times_seen, rid IS NOT NULL FROM notices WHERE account = 'demo' AND digest = $1 AND body = $2`, key[:],
		[]byte(text)).Scan(&seen, &tied); err != nil || seen != times || tied != matched {
		t.Errorf("notice %s: seen %d, matched %v, %v, want %d and %v", text, seen, tied, err, times, matched)
	}
}

// C4: the notice comes before the synchronous answer is stored. Both concern one dispatch: one effect, no second journal row, and
// concurrent repeats change nothing.
func TestNoticeBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	n := notice("first", f.number(t, k), "ch_1", refund.Succeeded)
	f.receive(t, n, refund.NoticeEntered)
	r := f.wantState(t, k, refund.StateSuccess)
	seq := r.JournalSeq
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, err := f.ReceiveNotice(t.Context(), "demo", n); (err != nil && !errors.Is(err, refund.ErrBusy)) || (err == nil && got != refund.NoticeKnown) {
				t.Errorf("repeat: %s, %v", got, err)
			}
		})
	}
	wg.Wait()
	f.receive(t, notice("the same under another id", n.Number, "ch_1", refund.Succeeded), refund.NoticeKnown)
	f.enter(t, k, succeeded(c, "ch_1"))
	r = f.wantState(t, k, refund.StateSuccess)
	if len(r.Effects) != 1 || r.Payment.Refunded != 100 || r.JournalSeq != seq {
		t.Errorf("effects %+v, refunded %d, seq %d: one effect, and nothing was learned after seq %d", r.Effects, r.Payment.Refunded, r.JournalSeq, seq)
	}
	if a := r.Attempts[0]; a.Answer != refund.Succeeded {
		t.Errorf("the answer %q must be kept all the same", a.Answer)
	}
	f.wantSound(t)
}

// C5: success, and days later a failure by which the channel means that the money came back.
func TestLateFailureByNotice(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	f.contract.Codes.LateFailure = true
	f.cfg.Accounts = anyAccount{f.contract}
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	f.enter(t, k, succeeded(c, "ch_1"))
	f.wantState(t, k, refund.StateSuccess)
	f.receive(t, notice("failed", f.number(t, k), "ch_1", refund.FailedFinal), refund.NoticeEntered)
	r := f.wantState(t, k, refund.StateReversed)
	if p := r.Payment; p.Refunded != 0 || p.Reserved != 0 || p.Refundable() != 1000 || r.Effects[0].Status != refund.EffectReversed {
		t.Errorf("payment %+v, effects %+v: the whole amount is refundable again", p, r.Effects)
	}
	var postings, sum int
	if err := f.pool.QueryRow(t.Context(), `SELECT count(*), sum(CASE kind WHEN 'REFUND' THEN amount ELSE -amount END) FROM postings`).Scan(&postings,
		&sum); err != nil || postings != 2 || sum != 0 {
		t.Errorf("%d postings that sum to %d, %v: want a posting and its mirror", postings, sum, err)
	}
	f.wantSound(t)
}

// C6: because of a low balance the channel holds the refund for days. It is neither final nor sent again, and no success is reported.
func TestRefundHeldByTheChannelIsNeitherDoneNorFailed(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	f.enter(t, k, answered(c, refund.Acknowledged))
	r := f.wantState(t, k, refund.StateAccepted)
	for day := range 6 {
		if st := refund.Decide(r, f.contract, r.Now.Add(time.Duration(day)*24*time.Hour)); st.Kind == refund.StepSend || st.Kind == refund.StepDone {
			t.Errorf("day %d: %+v, it must neither be sent nor be over", day, st)
		}
	}
	if r.Payment.Reserved != 100 || r.Payment.Refunded != 0 {
		t.Errorf("payment %+v: reserved, not refunded", r.Payment)
	}
	f.receive(t, notice("done at last", f.number(t, k), "ch_1", refund.Succeeded), refund.NoticeEntered)
	f.wantState(t, k, refund.StateSuccess)
	f.wantSound(t)
}

// Notices arrive in another order: the return before the success.
func TestNoticesOutOfOrder(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	f.claim(t, k, refund.AttemptSend, 10*time.Second)
	number := f.number(t, k)
	f.receive(t, notice("returned", number, "ch_1", refund.Reversed), refund.NoticeEntered)
	f.wantState(t, k, refund.StateReversed)
	f.receive(t, notice("succeeded", number, "ch_1", refund.Succeeded), refund.NoticeKnown)
	f.receive(t, notice("accepted", number, "ch_1", refund.Acknowledged), refund.NoticeEntered)
	r := f.wantState(t, k, refund.StateReversed)
	if len(r.Effects) != 1 || r.Payment.Refunded != 0 || r.Case != nil {
		t.Errorf("effects %+v, refunded %d, case %+v", r.Effects, r.Payment.Refunded, r.Case)
	}
	f.wantSound(t)
}

// A notice with a number that does not exist yet is kept, and entered when the refund with that number is created: a restored database
// gets the refund a second time, and the channel has executed it already.
func TestNoticeWaitsForItsNumber(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	number := refund.DispatchNumber(f.Installation(), "demo", "early_0", 1)
	f.receive(t, notice("early", number, "ch_9", refund.Succeeded), refund.NoticeKept)
	f.receive(t, notice("early", number, "ch_9", refund.Succeeded), refund.NoticeKept)
	f.wantNotice(t, "early", 2, false)
	other := f.refund(t, "other")
	f.wantState(t, other, refund.StatePending)
	k := f.refund(t, "early")
	r := f.wantState(t, k, refund.StateSuccess)
	if len(r.Effects) != 1 || r.Effects[0].ChannelRefundID != "ch_9" || r.AttemptNo != 0 {
		t.Errorf("effects %+v, %d attempts: booked without a send", r.Effects, r.AttemptNo)
	}
	f.wantNotice(t, "early", 2, true)
	f.receive(t, notice("early", number, "ch_9", refund.Succeeded), refund.NoticeKnown)
	f.wantSound(t)
}

// A notice with the channel's id alone waits until the id is known.
func TestNoticeWaitsForItsChannelID(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	f.receive(t, notice("returned", "", "ch_1", refund.Reversed), refund.NoticeKept)
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	f.enter(t, k, succeeded(c, "ch_1"))
	r := f.wantState(t, k, refund.StateReversed)
	if len(r.Effects) != 1 || r.Payment.Refunded != 0 {
		t.Errorf("effects %+v, refunded %d", r.Effects, r.Payment.Refunded)
	}
	f.wantNotice(t, "returned", 1, true)
	f.receive(t, notice("succeeded", "", "ch_1", refund.Succeeded), refund.NoticeKnown)
	f.wantSound(t)
}

// An unreadable notice, or one with an unknown status, is kept and changes nothing.
func TestNoticeWithoutAFactIsKept(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	f.claim(t, k, refund.AttemptSend, 10*time.Second)
	before := f.load(t, k).JournalSeq
	f.receive(t, refund.KeptNotice{Notice: refund.Notice{Digest: sha256.Sum256([]byte("?")), Status: refund.Unknown}, Body: []byte("?")}, refund.NoticeKept)
	f.wantNotice(t, "?", 1, false)
	f.receive(t, notice("frozen", f.number(t, k), "", refund.Unknown), refund.NoticeUnusable)
	f.wantNotice(t, "frozen", 1, true)
	if r := f.wantState(t, k, refund.StateProcessing); r.JournalSeq != before {
		t.Errorf("journal at %d, want %d", r.JournalSeq, before)
	}
}

// A notice with a number of another account matches nothing. An id that the channel has given to one refund moves no other.
func TestNoticesKeepToTheirAccount(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	keys := f.refunds(t, "rf", 2)
	for i, k := range keys {
		f.claim(t, k, refund.AttemptSend, 10*time.Second)
		n := notice(fmt.Sprint("both ", i), f.number(t, k), "ch_same", refund.Succeeded)
		if got, err := f.ReceiveNotice(t.Context(), "elsewhere", n); err != nil || got != refund.NoticeKept {
			t.Errorf("through another account: %s, %v", got, err)
		}
		f.wantState(t, k, refund.StateProcessing)
		if i == 1 { // the channel gave the id to the first
			f.receive(t, n, refund.NoticeContradicts)
			f.wantContradiction(t, k, refund.StateProcessing)
			continue
		}
		f.receive(t, n, refund.NoticeEntered)
		f.wantState(t, k, refund.StateSuccess)
	}
	f.wantSound(t)
}
