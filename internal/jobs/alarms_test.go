package jobs

import (
	"sync"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

// deniedLog is an Observer that records the alarms of accounts.
type deniedLog struct {
	keptLog
	mu   sync.Mutex
	said []bool
}

func (l *deniedLog) CredentialsDenied(_ string, denied bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, denied)
}

func (l *deniedLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.said)
}

// TestRefusedCredentialsOpenTheAccountsAlarmAtOnce: by a listed code or by a 401 without one, and once, not for each refund. The next answer
// that needed credentials closes it.
func TestRefusedCredentialsOpenTheAccountsAlarmAtOnce(t *testing.T) {
	t.Parallel()
	c := testContract()
	c.Codes.Retryable, c.Codes.Credentials = []string{"bad_signature"}, []string{"bad_signature"}
	for name, refusal := range map[string]refund.Answer{
		"a listed code":      {Kind: refund.Retryable, Code: "bad_signature", Rule: "codes.retryable"},
		"a 401 without code": {Kind: refund.Retryable, Denied: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c)
			seen := &deniedLog{}
			b.cfg.Observer = seen
			b.channel.onSend = func(n int, c refund.Call, effect func() string) refund.Answer {
				if n <= 3 {
					return refusal
				}
				return paid(c, effect())
			}
			b.start(t)
			b.wantAll(t, b.accept(t, 3), refund.StateSuccess)
			eventually(t, "the alarm is closed", func() bool { return seen.count() == 2 })
			if seen.said[0] != true || seen.said[1] != false {
				t.Errorf("alarms %v, want one that opens and closes", seen.said)
			}
		})
	}
}
