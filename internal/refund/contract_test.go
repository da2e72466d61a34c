package refund_test

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// An invalid contract is refused before an account uses it.
func TestInvalidContractsAreRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*refund.Contract){
		"numbers too short":          func(c *refund.Contract) { c.Key.NumberLength = 33 },
		"replay without a key":       func(c *refund.Contract) { c.Key = refund.IdempotencyTerms{ReplaysState: true, NumberLength: 64} },
		"kept low balance":           func(c *refund.Contract) { c.Key.KeepsAnswer, c.Codes.LowBalance = true, []string{"low"} },
		"low balance takes a number": func(c *refund.Contract) { c.Codes.Retryable, c.Codes.NewNumber = nil, c.Codes.LowBalance },
		"replay of the first answer": func(c *refund.Contract) { c.Key.ReplaysState, c.Key.KeepsAnswer = true, true },
		"replay that may act again":  func(c *refund.Contract) { c.Key.ReplaysState, c.Key.After2xx = true, true },
		"keys that expire at once":   func(c *refund.Contract) { c.Key.Lifetime = refund.Duration(3 * time.Second) },
		"no absence is needed":       func(c *refund.Contract) { c.Query.Readings = 0 },
		"no horizon":                 func(c *refund.Contract) { c.Horizon = 0 },
		"no deadline while pending":  func(c *refund.Contract) { c.Waits.Pending = 0 },
		"no deadline while unknown":  func(c *refund.Contract) { c.Waits.Unknown = 0 },
		"no deadline while accepted": func(c *refund.Contract) { c.Waits.Accepted = 0 },
		"negative calls per second":  func(c *refund.Contract) { c.Limits.PerSecond = -1 },
	} {
		c, _ := refund.Profile(refund.ProfileKeyedQueryable)
		spoil(&c)
		if c.Validate() == nil {
			t.Errorf("%s: the contract was accepted", name)
		}
	}
}

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at is a PENDING record whose number was sent once, at begin, and is not exposed any more.
func at(answer refund.FactKind, expires time.Time) refund.Record {
	var r refund.Record
	r.State, r.DispatchNo, r.AttemptNo, r.NextActionAt = refund.StatePending, 1, 1, begin
	r.Dispatches = []refund.Dispatch{{Ordinal: 1, KeyExpiresAt: expires}}
	r.Attempts = []refund.Attempt{{No: 1, DispatchNo: 1, Kind: refund.AttemptSend, StartedAt: begin, NotAfter: begin.Add(3 * time.Second),
		AnsweredAt: begin, Answer: answer}}
	return r
}

// A later contract may end a key earlier than the first send has fixed, never later.
func TestLaterContractOnlyTightensAKey(t *testing.T) {
	t.Parallel()
	c, _ := refund.Profile(refund.ProfileKeyAfter2xx)
	for _, x := range []struct {
		what     string
		frozen   time.Duration // 0 = the first send fixed no end
		lifetime time.Duration
		after    time.Duration
		do       refund.StepKind
	}{
		{"as fixed, alive", 20 * time.Minute, 20 * time.Minute, 10 * time.Minute, refund.StepSend},
		{"as fixed, expired", 20 * time.Minute, 20 * time.Minute, 20 * time.Minute, refund.StepRetireKey},
		{"tightened", 20 * time.Minute, 5 * time.Minute, 10 * time.Minute, refund.StepRetireKey},
		{"lengthened", 5 * time.Minute, 20 * time.Minute, 10 * time.Minute, refund.StepRetireKey},
		{"had no end, has one now", 0, 5 * time.Minute, 10 * time.Minute, refund.StepRetireKey},
		{"had an end, has none now", 5 * time.Minute, 0, 10 * time.Minute, refund.StepRetireKey},
		{"never had one", 0, 0, 10 * time.Minute, refund.StepSend},
	} {
		expires := time.Time{}
		if x.frozen > 0 {
			expires = begin.Add(x.frozen)
		}
		c.Key.Lifetime = refund.Duration(x.lifetime)
		if got := refund.Decide(at(refund.Retryable, expires), c, begin.Add(x.after)); got.Kind != x.do {
			t.Errorf("%s: %+v, want %s", x.what, got, x.do)
		}
	}
}

// Where the channel keeps the first answer, an unclear answer makes the number useless: a repeat returns it as long as the
// key lives.
func TestKeptAnswersSpendANumber(t *testing.T) {
	t.Parallel()
	c, _ := refund.Profile(refund.ProfileListAndMatch)
	for answer, do := range map[refund.FactKind]refund.StepKind{refund.Unknown: refund.StepRetireKey, "": refund.StepRetireKey,
		refund.Retryable: refund.StepSend, refund.NotSent: refund.StepSend} {
		if got := refund.Decide(at(answer, begin.Add(24*time.Hour)), c, begin.Add(time.Minute)); got.Kind != do {
			t.Errorf("after %q: %+v, want %s", answer, got, do)
		}
	}
}
