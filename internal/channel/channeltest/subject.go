package channeltest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/refund"
)

// Effect is one movement of money at the channel.
type Effect struct {
	Amount   int64
	Currency refund.Currency
}

// Subject is a client and its channel, new for each test.
type Subject struct {
	Client   refund.Channel
	Contract refund.Contract
	Account  string
	Secret   string // no answer may contain it; "" = none
	Async    bool   // a send is only acknowledged, the money moves later
	// Faults sets the faults of the channel, in the short form of the simulator.
	Faults func(t *testing.T, spec string)
	// Effects returns what the channel did under a number.
	Effects func(t *testing.T, number string) []Effect
	// Later moves the channel's clock by an hour, past every delay of a fault.
	Later func()
	// Rewrite changes the body of every later answer before the client gets it; nil = as it is.
	Rewrite func(change func(body []byte) []byte)
	// Reads are the names of the JSON members that the client reads, in any kind of document.
	Reads []string
	// NoticeBody is a notice that the client can read, and SignNotice returns the headers with which the channel sends a body.
	// Needed when the contract has notices.
	NoticeBody []byte
	SignNotice func(body []byte) map[string][]string

	used *int // numbers made by fresh
}

func (s Subject) call(number string) refund.Call {
	return refund.Call{
		Number: number, RefundID: "rf-" + number, TenantCode: "demo", Account: s.Account, PaymentReference: "ch_77",
		Amount: 1250, Currency: "USD", Reason: "damaged",
	}
}

// attempt returns the context of one call with enough time.
func attempt(t *testing.T) context.Context {
	return channel.WithBudget(t.Context(), channel.Budget{Start: time.Now(), Send: 20 * time.Second})
}

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
		t.Errorf("%s: the answer has no rule", a.Kind)
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

// done returns the kind of the answer to a successful send.
func (s Subject) done() refund.FactKind {
	if s.Async {
		return refund.Acknowledged
	}
	return refund.Succeeded
}

// ask queries or lists a number, as the contract offers; false when it offers neither.
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

// settled waits until the money of a successful send has moved.
func (s Subject) settled() {
	if s.Async {
		s.Later()
	}
}
