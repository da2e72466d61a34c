// Package channeltest is the conformance suite of channel clients: what every
// client must make of what its channel does, whatever its wire protocol. A client
// runs it against a channel that can be told to fail and that tells afterwards
// what really happened.
package channeltest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/refund"
)

// Effect is one movement of money that the channel made.
type Effect struct {
	Amount   int64
	Currency refund.Currency
}

// Subject is a client and the channel behind it, fresh for each test.
type Subject struct {
	Client   refund.Channel
	Contract refund.Contract
	Account  string
	Secret   string // must appear in no answer; "" = none
	Async    bool   // a send is only ever acknowledged, the money moves later
	// Faults sets what goes wrong, in the simulator's short form.
	Faults func(t *testing.T, spec string)
	// Effects tells what the channel did under a number.
	Effects func(t *testing.T, number string) []Effect
	// Later moves the channel's clock by an hour: past every delay of a fault.
	Later func()
}

// Run runs the suite. What a contract does not offer is left out.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Subject){
		"success":             success,
		"definite answers":    definite,
		"ambiguous answers":   ambiguous,
		"same number again":   again,
		"error, then again":   errorThenAgain,
		"number reused":       reused,
		"concurrent twins":    twins,
		"wrong amount":        wrongAmount,
		"accepted":            accepted,
		"accepted, then no":   acceptedThenNo,
		"late failure":        lateFailure,
		"query":               query,
		"query gives nothing": emptyQuery,
		"list":                list,
		"time over":           timeOver,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

func (s Subject) call(number string) refund.Call {
	return refund.Call{
		Number: number, RefundID: "rf-" + number, TenantCode: "demo", Account: s.Account, PaymentReference: "ch_77",
		Amount: 1250, Currency: "USD", Reason: "damaged",
	}
}

// attempt is the context of one call with time enough.
func attempt(t *testing.T) context.Context {
	return channel.WithBudget(t.Context(), channel.Budget{Start: time.Now(), Send: 20 * time.Second})
}

// send, query and list make one call and hold what is true of every answer.

func (s Subject) send(t *testing.T, call refund.Call) refund.Answer {
	t.Helper()
	return s.checked(t, s.Client.Refund(attempt(t), call))
}

func (s Subject) query(t *testing.T, number string) refund.Answer {
	t.Helper()
	return s.checked(t, s.Client.Query(attempt(t), s.call(number)))
}

func (s Subject) list(t *testing.T, number string) ([]refund.ListedEffect, bool, refund.Answer) {
	t.Helper()
	lines, complete, a := s.Client.List(attempt(t), s.call(number))
	return lines, complete, s.checked(t, a)
}

func (s Subject) checked(t *testing.T, a refund.Answer) refund.Answer {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(a.Evidence, &object); err != nil || object == nil {
		t.Errorf("%s: evidence %s is not a JSON object", a.Kind, a.Evidence)
	}
	if s.Secret != "" && strings.Contains(string(a.Evidence)+a.Code+a.Rule, s.Secret) {
		t.Errorf("%s: the secret is in the answer", a.Kind)
	}
	if a.Rule == "" {
		t.Errorf("%s: no rule says why", a.Kind)
	}
	return a
}

func (s Subject) want(t *testing.T, what string, a refund.Answer, kind refund.FactKind) {
	t.Helper()
	if a.Kind != kind {
		t.Errorf("%s: %s (code %q, rule %q, evidence %s), want %s", what, a.Kind, a.Code, a.Rule, a.Evidence, kind)
	}
}

func (s Subject) wantEffects(t *testing.T, number string, want int) {
	t.Helper()
	if got := s.Effects(t, number); len(got) != want {
		t.Errorf("%d effects under %s, want %d", len(got), number, want)
	}
}

// done is what a send that works is answered with.
func (s Subject) done() refund.FactKind {
	if s.Async {
		return refund.Acknowledged
	}
	return refund.Succeeded
}

// ask learns of a number in the way that the contract offers; false = there is none.
func (s Subject) ask(t *testing.T, number string) (refund.Answer, bool) {
	t.Helper()
	switch s.Contract.Recovery() {
	case refund.RecoverByQuery:
		return s.query(t, number), true
	case refund.RecoverByList:
		_, _, a := s.list(t, number)
		return a, true
	case refund.RecoverByReplay:
		return s.send(t, s.call(number)), true
	case refund.RecoverByNotice, refund.RecoverByNobody:
	}
	return refund.Answer{}, false
}

// settled waits until the money of a send that works has moved.
func (s Subject) settled() {
	if s.Async {
		s.Later()
	}
}

func success(t *testing.T, s Subject) {
	a := s.send(t, s.call("n1"))
	s.want(t, "send", a, s.done())
	s.settled()
	if a.ChannelRefundID == "" || a.Amount != 0 && a.Amount != 1250 || a.Currency != "" && a.Currency != "USD" {
		t.Errorf("answer %+v does not fit what was asked", a)
	}
	s.wantEffects(t, "n1", 1)
}

// definite: the channel says that it did nothing, in each way it can. A low balance
// may also hold the refund.
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
		kept := c.fault == "low-balance=1" && s.Contract.Key.KeepsAnswer // the same number would hear it again for as long as it lives
		if kept {
			c.kind = refund.RefusedNewNumber
		}
		s.want(t, c.fault, a, c.kind)
		if a.Code == "" {
			t.Errorf("%s: the channel's code is lost", c.fault)
		}
		if low := c.fault == "low-balance=1" && !kept; low != contains(s.Contract.Codes.LowBalance, a.Code) {
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

// ambiguous: whether money moved or not, the answer must be the same.
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

// errorThenAgain: what the same number does after an error is what the contract says,
// and the reason why nobody sends it again before it knows.
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

// reused: the number has been used with another amount. The refund under that
// number may be ours, so nothing definite can follow.
func reused(t *testing.T, s Subject) {
	if !s.Contract.Key.Dedupes {
		return
	}
	s.want(t, "first", s.send(t, s.call("n1")), s.done())
	other := s.call("n1")
	other.Amount++
	a := s.send(t, other)
	if a.Kind != refund.Unknown && a.Kind != refund.RefusedEcho && (a.Kind != s.done() || a.Amount != 1250) {
		t.Errorf("same number, other amount: %s of %d with code %q, which claims too much", a.Kind, a.Amount, a.Code)
	}
	s.settled()
	s.wantEffects(t, "n1", 1)
}

func twins(t *testing.T, s Subject) {
	key := s.Contract.Key
	if !key.Dedupes || key.After2xx {
		return // twins act, and nobody may count on anything else
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a := s.Client.Refund(attempt(t), s.call("n1"))
			if refused := key.InFlightRefused && a.Kind == refund.Retryable; a.Kind != s.done() && a.Kind != refund.Unknown && !refused {
				t.Errorf("twin: %s %s", a.Kind, a.Code)
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
		t.Errorf("the answer says %d, the channel moved %+v: what moved must be told", a.Amount, effects)
	}
}

func accepted(t *testing.T, s Subject) {
	s.Faults(t, "pending=1")
	s.want(t, "send", s.send(t, s.call("n1")), refund.Acknowledged)
	s.wantEffects(t, "n1", 0)
	if a, ok := s.ask(t, "n1"); ok {
		s.want(t, "asked before", a, refund.Acknowledged)
	}
	s.Later()
	s.wantEffects(t, "n1", 1)
	if a, ok := s.ask(t, "n1"); ok {
		s.want(t, "asked after", a, refund.Succeeded)
	}
	s.wantEffects(t, "n1", 1)
}

func acceptedThenNo(t *testing.T, s Subject) {
	s.Faults(t, "pending-failed=1")
	s.want(t, "send", s.send(t, s.call("n1")), refund.Acknowledged)
	s.Later()
	s.wantEffects(t, "n1", 0)
	if a, ok := s.ask(t, "n1"); ok {
		s.want(t, "asked", a, refund.FailedFinal)
	}
}

// lateFailure: some channels have a word of their own for it, others say "failed".
func lateFailure(t *testing.T, s Subject) {
	s.Faults(t, "late-failure=1")
	s.want(t, "send", s.send(t, s.call("n1")), s.done())
	s.Later()
	a, ok := s.ask(t, "n1")
	if !ok {
		return
	}
	kind := refund.Reversed
	if s.Contract.Codes.LateFailure {
		kind = refund.FailedFinal
	}
	s.want(t, "asked", a, kind)
	if a.ChannelRefundID == "" || a.Amount != 1250 {
		t.Errorf("what came back is not told: %+v", a)
	}
}

func query(t *testing.T, s Subject) {
	if !s.Contract.Query.Exists {
		s.send(t, s.call("n1"))
		s.want(t, "query that does not exist", s.query(t, "n1"), refund.Unknown)
		return
	}
	s.want(t, "before the send", s.query(t, "n1"), refund.NotFound)
	s.Faults(t, "lost-after=1")
	s.want(t, "send", s.send(t, s.call("n1")), refund.Unknown)
	a := s.query(t, "n1")
	s.want(t, "after the lost answer", a, refund.Succeeded)
	if a.ChannelRefundID == "" || a.Amount != 1250 || a.Currency != "USD" {
		t.Errorf("query tells %+v", a)
	}
	s.Faults(t, "hidden=1")
	s.send(t, s.call("n2"))
	s.wantEffects(t, "n2", 1)
	s.want(t, "hidden", s.query(t, "n2"), refund.NotFound)
	s.Later()
	s.want(t, "no longer hidden", s.query(t, "n2"), refund.Succeeded)
}

// emptyQuery: a question that fails says nothing about the refund, not even "not
// found" or "may be sent again".
func emptyQuery(t *testing.T, s Subject) {
	if !s.Contract.Query.Exists {
		return
	}
	s.send(t, s.call("n1"))
	for _, call := range []refund.Call{s.call("n1"), s.call("n2")} {
		other := call
		other.Account = "nobody-has-this"
		if a := s.checked(t, s.Client.Query(attempt(t), other)); a.Kind != refund.Unknown {
			t.Errorf("query of an unknown account: %s", a.Kind)
		}
	}
}

func list(t *testing.T, s Subject) {
	if !s.Contract.List.Exists {
		return
	}
	_, complete, a := s.list(t, "n1")
	if s.want(t, "before", a, refund.NotFound); !complete {
		t.Error("an empty list is complete")
	}
	s.send(t, s.call("n1"))
	s.send(t, s.call("n2"))
	lines, complete, a := s.list(t, "n2")
	if s.want(t, "after", a, refund.Succeeded); !complete || len(lines) != 2 {
		t.Errorf("%d lines, complete %v, want 2 and true", len(lines), complete)
	}
	for _, line := range lines {
		if line.ChannelRefundID == "" || line.Amount != 1250 || line.Currency != "USD" || line.Status != refund.Succeeded {
			t.Errorf("line %+v", line)
		}
	}
	s.Faults(t, "incomplete-list=1")
	_, complete, a = s.list(t, "n2")
	if s.want(t, "hidden by an incomplete list", a, refund.Unknown); complete {
		t.Error("the list said that it is not complete")
	}
}

func timeOver(t *testing.T, s Subject) {
	over := channel.WithBudget(t.Context(), channel.Budget{Start: time.Now().Add(-time.Hour), Send: time.Second})
	s.want(t, "time over", s.checked(t, s.Client.Refund(over, s.call("n1"))), refund.NotSent)
	s.want(t, "no budget", s.checked(t, s.Client.Refund(t.Context(), s.call("n1"))), refund.NotSent)
	s.wantEffects(t, "n1", 0)
}
