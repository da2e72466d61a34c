package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store"
)

// awayStore is a store whose database takes no answers while away is set.
type awayStore struct {
	*store.Store
	away  atomic.Bool
	tries atomic.Int64
}

func (s *awayStore) Enter(ctx context.Context, k refund.RefundRef, f refund.Fact, c refund.Contract) (refund.Change, error) {
	if s.away.Load() && f.Attempt > 0 {
		s.tries.Add(1)
		return refund.Change{}, refund.ErrUnavailable
	}
	return s.Store.Enter(ctx, k, f, c)
}

// keptLog is an Observer that records what is kept and lost.
type keptLog struct {
	kept, most, lost atomic.Int64
}

func (*keptLog) Called(string, refund.AttemptKind, refund.FactKind, time.Duration) {}

func (*keptLog) Swept(refund.Swept) {}

func (l *keptLog) Kept(n int) {
	l.kept.Store(int64(n))
	l.most.Store(max(l.most.Load(), int64(n)))
}

func (*keptLog) CredentialsDenied(string, bool) {}

func (l *keptLog) Lost() { l.lost.Add(1) }

// lockedBuffer is a bytes.Buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// awayBench is a fixture whose database goes away as soon as the channel has been called.
func awayBench(t *testing.T) (*fixture, *awayStore, *keptLog, *lockedBuffer) {
	t.Helper()
	b := newBench(t, testContract())
	s, seen, text := &awayStore{Store: b.store}, &keptLog{}, &lockedBuffer{}
	b.cfg.Store, b.cfg.Observer, b.cfg.Times.Enter = s, seen, 100*time.Millisecond
	b.cfg.Logger = slog.New(slog.NewJSONHandler(text, nil))
	b.channel.onSend = func(_ int, c refund.Call, effect func() string) refund.Answer {
		s.away.Store(true)
		return paid(c, effect())
	}
	return b, s, seen, text
}

// TestAnAnswerThatTheDatabaseDoesNotTakeIsKeptAndStored: the outage is longer than a job may try, and the answer is that of the first
// attempt all the same.
func TestAnAnswerThatTheDatabaseDoesNotTakeIsKeptAndStored(t *testing.T) {
	t.Parallel()
	b, s, seen, text := awayBench(t)
	b.start(t)
	k := b.accept(t, 1)[0]
	eventually(t, "the answer is kept", func() bool { return seen.kept.Load() == 1 })
	tries := s.tries.Load()
	eventually(t, "it is tried again", func() bool { return s.tries.Load() > tries })
	s.away.Store(false)
	eventually(t, "it is stored", func() bool { return b.load(t, k).Attempts[0].Answer == refund.Succeeded })
	eventually(t, "nothing is kept any more", func() bool { return seen.kept.Load() == 0 })
	b.wantAll(t, []refund.RefundRef{k}, refund.StateSuccess)
	if sends, _, effects := b.channel.counts(); sends != 1 || effects != 1 || seen.lost.Load() != 0 {
		t.Errorf("%d sends, %d effects, %d answers lost, want one send and one effect", sends, effects, seen.lost.Load())
	}
	wantEssentials(t, text.String(), "an answer could not be stored and is kept", b.load(t, k))
}

// TestAKeptAnswerThatTheProcessTakesWithItIsInTheLog: with what a person needs to enter it.
func TestAKeptAnswerThatTheProcessTakesWithItIsInTheLog(t *testing.T) {
	t.Parallel()
	b, _, seen, text := awayBench(t)
	r := b.start(t)
	k := b.accept(t, 1)[0]
	eventually(t, "the answer is kept", func() bool { return seen.kept.Load() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := r.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
	if seen.kept.Load() != 0 || seen.lost.Load() == 0 {
		t.Errorf("%d kept, %d lost, want none and one", seen.kept.Load(), seen.lost.Load())
	}
	wantEssentials(t, text.String(), "a kept answer is lost: the process ends before the database is back", b.load(t, k))
}

// wantEssentials looks for a log line with the essentials of a send's answer.
func wantEssentials(t *testing.T, text, msg string, rec refund.Record) {
	t.Helper()
	for line := range strings.Lines(text) {
		var said struct {
			Msg    string
			Answer struct {
				RID, RefundID, Account, Number, Answer, ChannelRefundID, Currency string
				Attempt                                                           int
				Amount                                                            int64
			}
		}
		if json.Unmarshal([]byte(line), &said) != nil || said.Msg != msg || said.Answer.Attempt != 1 {
			continue
		}
		if a := said.Answer; a.RID != rec.RID.String() || a.RefundID != rec.RefundID || a.Account != "demo" || a.Number != rec.Dispatches[0].Number ||
			a.Answer != string(refund.Succeeded) || a.ChannelRefundID == "" || a.Amount != 100 || a.Currency != "USD" {
			t.Errorf("the log has %+v, want the essentials of the answer", a)
		}
		return
	}
	t.Errorf("no line %q in the log:\n%s", msg, text)
}

func TestKeptAnswersAreBounded(t *testing.T) {
	t.Parallel()
	k := newKeptAnswers()
	a := answered{callResult: callResult{facts: []refund.Fact{{}}}}
	for n := range maxKept {
		if !k.add(a) {
			t.Fatalf("no room for answer %d", n+1)
		}
	}
	if k.add(a) {
		t.Errorf("room for more than %d answers", maxKept)
	}
	k.drop()
	a.facts = []refund.Fact{{Evidence: make([]byte, maxKeptBytes)}}
	if k.add(a) {
		t.Errorf("room for more than %d bytes", maxKeptBytes)
	}
}

// TestAJobMayTakeACallTheStoringOfItsAnswerAndTheMargin: a shorter limit would cut calls off whose times are allowed.
func TestAJobMayTakeACallTheStoringOfItsAnswerAndTheMargin(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	b.cfg.Times.Call, b.cfg.Times.Enter = 3*time.Minute, 4*time.Minute
	r, err := New(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := r.riverConfig()
	if want := 7*time.Minute + b.cfg.Times.Margin; c.JobTimeout != want || c.RescueStuckJobsAfter <= want {
		t.Errorf("limit %s, lost after %s, want %s and more", c.JobTimeout, c.RescueStuckJobsAfter, want)
	}
	b.cfg.Times.Call, b.cfg.Times.Enter, b.cfg.Times.SendWindow = 100*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond
	if _, err := New(b.cfg); err == nil || !strings.Contains(err.Error(), "sendWindow") {
		t.Errorf("a window longer than a job: %v, want a fault", err)
	}
}
