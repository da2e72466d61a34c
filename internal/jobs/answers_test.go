package jobs

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store"
)

func TestListIsMatchedByNumberOnly(t *testing.T) {
	t.Parallel()
	ours := refund.ListedEffect{Number: "R1", ChannelRefundID: "ch_1", Status: refund.Succeeded, Amount: 100, Currency: "USD"}
	foreign := refund.ListedEffect{Number: "R2", ChannelRefundID: "ch_2", Status: refund.Succeeded, Amount: 100, Currency: "USD"}
	second := refund.ListedEffect{Number: "R1", ChannelRefundID: "ch_3", Status: refund.FailedFinal, Amount: 100, Currency: "USD"}
	odd := refund.ListedEffect{Number: "R1", Status: refund.NotFound}
	for name, c := range map[string]struct {
		lines    []refund.ListedEffect
		complete bool
		want     []refund.FactKind
	}{
		"found":                    {[]refund.ListedEffect{foreign, ours}, true, []refund.FactKind{refund.Succeeded}},
		"found in part of a list":  {[]refund.ListedEffect{ours}, false, []refund.FactKind{refund.Succeeded}},
		"equal amount, not ours":   {[]refund.ListedEffect{foreign}, true, []refund.FactKind{refund.NotFound}},
		"incomplete":               {[]refund.ListedEffect{foreign}, false, []refund.FactKind{refund.Unknown}},
		"empty":                    {nil, true, []refund.FactKind{refund.NotFound}},
		"two lines":                {[]refund.ListedEffect{ours, second}, true, []refund.FactKind{refund.Succeeded, refund.FailedFinal}},
		"a line of unknown status": {[]refund.ListedEffect{odd}, true, []refund.FactKind{refund.Unknown}},
	} {
		ch := &fakeChannel{onListed: func(refund.Call) ([]refund.ListedEffect, bool) { return c.lines, c.complete }}
		got := answers(context.Background(), refund.Attempt{No: 3, DispatchNo: 1, Kind: refund.AttemptList}, refund.Call{Number: "R1"}, ch)
		facts := got.facts
		if got.complete != c.complete || len(got.others) != strings.Count(fmt.Sprint(c.lines), "{R2 ") {
			t.Errorf("%s: complete=%v, %d lines of others", name, got.complete, len(got.others))
		}
		if len(facts) != len(c.want) {
			t.Errorf("%s: %d facts, want %d", name, len(facts), len(c.want))
			continue
		}
		for i, f := range facts {
			if f.Kind != c.want[i] || (f.Attempt == 3) != (i == 0) || f.Dispatch != 1 {
				t.Errorf("%s: fact %d is %+v, want %s; only the first completes the attempt", name, i, f, c.want[i])
			}
		}
	}
}

// TestImpossibleAnswersAreUnknown gives sends and queries the answers that only the other can have.
func TestImpossibleAnswersAreUnknown(t *testing.T) {
	t.Parallel()
	for kind, want := range map[refund.FactKind]refund.FactKind{refund.NotFound: refund.Unknown, "": refund.Unknown, refund.LeaseEnd: refund.Unknown,
		refund.RefusedClean: refund.RefusedClean, refund.Retryable: refund.Retryable} {
		if got := sendAnswer(refund.Answer{Kind: kind}).Kind; got != want {
			t.Errorf("a send answered %q: %s, want %s", kind, got, want)
		}
	}
	for kind, want := range map[refund.FactKind]refund.FactKind{refund.NotFound: refund.NotFound, refund.RefusedClean: refund.Unknown,
		refund.Retryable: refund.Unknown, refund.NotSent: refund.Unknown, refund.RefusedEcho: refund.Unknown, refund.FailedFinal: refund.FailedFinal} {
		if got := askAnswer(refund.Answer{Kind: kind}).Kind; got != want {
			t.Errorf("a query answered %q: %s, want %s", kind, got, want)
		}
	}
}

func TestInTimeComparesBothClocks(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, c := range map[string]struct {
		now  time.Time
		want bool
	}{
		"at once":                        {start.Add(time.Millisecond), true},
		"both clocks past":               {start.Add(time.Second), false},
		"suspended: wall clock past":     {start.Round(0).Add(24 * time.Hour), false},
		"clock set back, monotonic past": {start.Add(time.Second), false},
	} {
		if got := inTime(start, c.now, time.Second); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestRetriesAreCapped(t *testing.T) {
	t.Parallel()
	for attempt := range maxAttempts {
		if d := time.Until(retryPolicy{}.NextRetry(&rivertype.JobRow{Attempt: attempt})); d < 700*time.Millisecond || d > 72*time.Second {
			t.Fatalf("attempt %d is repeated after %s, want between one second and one minute, ± 20 %%", attempt, d)
		}
	}
}

// keptStore cannot enter the lines of the first two lists.
type keptStore struct {
	*store.Store
	lists atomic.Int64
}

func (s *keptStore) EnterLines(ctx context.Context, tenant refund.TenantID, paymentID, source string, lines []refund.ListedEffect, complete bool,
	c refund.Contract) error {
	if s.lists.Add(1) <= 2 {
		return fmt.Errorf("%w: a guard", refund.ErrLinesKept)
	}
	return s.Store.EnterLines(ctx, tenant, paymentID, source, lines, complete, c)
}

// The answer of a list whose other lines cannot be entered is entered all the same, but an absence in it proves nothing: one of those lines may
// be the refund.
func TestAListWhoseLinesAreKeptProvesNoAbsence(t *testing.T) {
	t.Parallel()
	c := testContract()
	c.Query, c.List = refund.QueryTerms{}, refund.QueryTerms{Exists: true, Readings: 1, FirstDelay: refund.Duration(10 * time.Millisecond)}
	b := newBench(t, c)
	kept := &keptStore{Store: b.store}
	b.cfg.Store = kept
	b.channel.onSend = func(n int, c refund.Call, effect func() string) refund.Answer {
		if n == 1 {
			return refund.Answer{Kind: refund.Unknown}
		}
		return paid(c, effect())
	}
	b.channel.onListed = func(refund.Call) ([]refund.ListedEffect, bool) {
		return []refund.ListedEffect{{Number: "of-another-system", ChannelRefundID: "ch_9", Status: refund.Succeeded, Amount: 7, Currency: "USD"}}, true
	}
	b.start(t)
	k := b.accept(t, 1)[0]
	b.wantAll(t, []refund.RefundRef{k}, refund.StateSuccess)
	var answers []string
	for _, a := range b.load(t, k).Attempts {
		answers = append(answers, string(a.Kind)+" "+string(a.Answer))
	}
	if got := strings.Join(answers, ", "); got != "SEND UNKNOWN, LIST UNKNOWN, LIST UNKNOWN, LIST NOT_FOUND, SEND SUCCEEDED" {
		t.Errorf("attempts: %s", got)
	}
}
