// Package channeltest is the conformance suite of channel clients. It checks how a client classifies what its channel does,
// whatever the protocol. A client runs it against a channel that can be made to fail and reports afterwards what it did.
package channeltest

import (
	"sync"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

// Run runs the suite. It leaves out what the contract does not offer.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Subject){
		"success":             success,
		"definite answers":    definite,
		"ambiguous answers":   ambiguous,
		"same number again":   again,
		"error, then again":   errorThenAgain,
		"number reused":       reused,
		"concurrent sends":    concurrent,
		"wrong amount":        wrongAmount,
		"accepted":            accepted,
		"accepted, then no":   acceptedThenNo,
		"late failure":        lateFailure,
		"query":               query,
		"query gives nothing": emptyQuery,
		"list":                list,
		"time over":           timeOver,
		"documents":           documentRows,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fresh(t)
			s.used = new(int)
			test(t, s)
		})
	}
}

func success(t *testing.T, s Subject) {
	a := s.send(t, s.call("n1"))
	s.want(t, "send", a, s.done())
	s.settled()
	if a.ChannelRefundID == "" || a.Amount != 0 && a.Amount != 1250 || a.Currency != "" && a.Currency != "USD" {
		t.Errorf("answer %+v does not match the call", a)
	}
	s.wantEffects(t, "n1", 1)
}

// definite has the channel answer that it did nothing, in every way it can. A low balance can also hold the refund.
func definite(t *testing.T, s Subject) {
	for _, c := range []struct {
		fault string
		kind  refund.FactKind
	}{
		{"refused=1", refund.RefusedClean},
		{"echo=1", refund.RefusedEcho},
		{"rate-limited=1", refund.Retryable},
		{"low-balance=1", refund.Retryable},
	} {
		s.Faults(t, c.fault)
		a := s.send(t, s.call(c.fault))
		if c.fault == "low-balance=1" && a.Kind == refund.Acknowledged {
			continue
		}
		kept := c.fault == "low-balance=1" && s.Contract.Key.KeepsAnswer // the channel repeats this answer for the number until the key expires
		if kept {
			c.kind = refund.RefusedNewNumber
		}
		s.want(t, c.fault, a, c.kind)
		if a.Code == "" {
			t.Errorf("%s: the answer has no code", c.fault)
		}
		if low := c.fault == "low-balance=1"; low != contains(s.Contract.Codes.LowBalance, a.Code) {
			t.Errorf("%s: code %q, low balance being %v", c.fault, a.Code, s.Contract.Codes.LowBalance)
		}
		s.wantEffects(t, c.fault, 0)
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// ambiguous gets the same answer whether money moved or not.
func ambiguous(t *testing.T, s Subject) {
	for _, c := range []struct {
		fault   string
		effects int
	}{{"lost-after", 1}, {"lost-before", 0}, {"error-after", 1}, {"error-before", 0}} {
		s.Faults(t, c.fault+"=1")
		s.want(t, c.fault, s.send(t, s.call(c.fault)), refund.Unknown)
		s.settled()
		s.wantEffects(t, c.fault, c.effects)
	}
}

// errorThenAgain repeats a number after an error. The result depends on the contract, so the number is not repeated without
// knowing it.
func errorThenAgain(t *testing.T, s Subject) {
	for fault, acted := range map[string]int{"error-after": 1, "error-before": 0} {
		s.Faults(t, fault+"=1")
		s.want(t, fault, s.send(t, s.call(fault)), refund.Unknown)
		s.Faults(t, "")
		a, key := s.send(t, s.call(fault)), s.Contract.Key
		kind, effects := s.done(), 1
		switch {
		case key.KeepsAnswer:
			kind, effects = refund.Unknown, acted
		case key.After2xx || !key.Dedupes:
			effects = acted + 1
		}
		s.want(t, fault+", again", a, kind)
		s.settled()
		s.wantEffects(t, fault, effects)
	}
}

func again(t *testing.T, s Subject) {
	one, two := s.send(t, s.call("n1")), s.send(t, s.call("n1"))
	s.want(t, "first", one, s.done())
	s.want(t, "second", two, s.done())
	s.settled()
	if same := one.ChannelRefundID == two.ChannelRefundID; same != s.Contract.Key.Dedupes {
		t.Errorf("ids %q and %q, the contract says dedupes = %v", one.ChannelRefundID, two.ChannelRefundID, s.Contract.Key.Dedupes)
	}
	want := 2
	if s.Contract.Key.Dedupes {
		want = 1
	}
	s.wantEffects(t, "n1", want)
}

// reused sends a used number with another amount. The refund under this number may be the same, so the answer must not be
// definite.
func reused(t *testing.T, s Subject) {
	if !s.Contract.Key.Dedupes {
		return
	}
	s.want(t, "first", s.send(t, s.call("n1")), s.done())
	other := s.call("n1")
	other.Amount++
	a := s.send(t, other)
	if a.Kind != refund.Unknown && a.Kind != refund.RefusedEcho && (a.Kind != s.done() || a.Amount != 1250) {
		t.Errorf("same number, other amount: %s of %d with code %q, want an answer that proves nothing", a.Kind, a.Amount, a.Code)
	}
	s.settled()
	s.wantEffects(t, "n1", 1)
}

func concurrent(t *testing.T, s Subject) {
	key := s.Contract.Key
	if !key.Dedupes || key.After2xx {
		return // both sends act
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a := s.Client.Refund(attempt(t), s.call("n1"))
			if refused := key.InFlightRefused && a.Kind == refund.Retryable; a.Kind != s.done() && a.Kind != refund.Unknown && !refused {
				t.Errorf("concurrent send: %s %s", a.Kind, a.Code)
			}
		})
	}
	wg.Wait()
	s.settled()
	s.wantEffects(t, "n1", 1)
}

func wrongAmount(t *testing.T, s Subject) {
	s.Faults(t, "wrong-amount=1")
	a := s.send(t, s.call("n1"))
	s.want(t, "send", a, s.done())
	s.settled()
	effects := s.Effects(t, "n1")
	if len(effects) != 1 || a.Amount == 1250 || a.Amount != effects[0].Amount {
		t.Errorf("the answer has the amount %d, the channel moved %+v: want the amount that moved", a.Amount, effects)
	}
}
