package channeltest

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/refund"
)

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
		t.Errorf("the query answers %+v", a)
	}
	s.Faults(t, "hidden=1")
	s.send(t, s.call("n2"))
	s.wantEffects(t, "n2", 1)
	s.want(t, "hidden", s.query(t, "n2"), refund.NotFound)
	s.Later()
	s.want(t, "no longer hidden", s.query(t, "n2"), refund.Succeeded)
}

// emptyQuery checks that a failed query proves nothing about the refund, neither "not found" nor "may be sent again".
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
		t.Error("the empty list must be complete")
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
		t.Error("the list must not be complete")
	}
}

func timeOver(t *testing.T, s Subject) {
	over := channel.WithBudget(t.Context(), channel.Budget{Start: time.Now().Add(-time.Hour), Send: time.Second})
	s.want(t, "time over", s.checked(t, s.Client.Refund(over, s.call("n1"))), refund.NotSent)
	s.want(t, "no budget", s.checked(t, s.Client.Refund(t.Context(), s.call("n1"))), refund.NotSent)
	s.wantEffects(t, "n1", 0)
}

// lateFailure has a refund fail after its success. Some channels have a status of its own for it, others report "failed".
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
		t.Errorf("the answer does not report the money that came back: %+v", a)
	}
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
