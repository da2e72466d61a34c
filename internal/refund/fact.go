package refund

import (
	"encoding/json"
	"time"
)

// FactKind is what was learned. The values of the first group are also the answers an attempt can have.
type FactKind string

// What a channel can say (docs/rules.md; Unknown is the default for everything not listed by the contract).
const (
	Succeeded        FactKind = "SUCCEEDED"
	Acknowledged     FactKind = "ACKNOWLEDGED"
	FailedFinal      FactKind = "FAILED_FINAL"
	RefusedClean     FactKind = "REFUSED"
	RefusedEcho      FactKind = "REFUSED_ECHO"
	RefusedNewNumber FactKind = "REFUSED_NEW_NUMBER"
	Retryable        FactKind = "RETRYABLE"
	NotSent          FactKind = "NOT_SENT"
	NotFound         FactKind = "NOT_FOUND"
	Reversed         FactKind = "REVERSED"
	Unknown          FactKind = "UNKNOWN"
)

// What we conclude ourselves from time and missing evidence; these carry the generation.
const (
	LeaseEnd   FactKind = "LEASE_END"   // an owner stopped answering
	Settled    FactKind = "SETTLED"     // exposure ended by time alone
	KeyExpired FactKind = "KEY_EXPIRED" // the live number may not be used any more
	Deadline   FactKind = "DEADLINE"    // open for too long, or no automatic step is allowed
	Withdrawn  FactKind = "WITHDRAWN"   // cancel
	EpochMark  FactKind = "EPOCH_MARK"  // restored or failed over: may have been sent in a lost future
)

// Answer is a channel's answer to one call, already classified by the contract.
type Answer struct {
	Kind            FactKind
	ChannelRefundID string
	Amount          int64    // 0 = not said
	Currency        Currency // "" = not said
	Code            string   // the channel's code, as evidence
	Rule            string   // the contract rule that classified it
	RetryAfter      time.Duration
	Voucher         map[string]string // by which the payer finds the money, e.g. "arn": bounded by VoucherText; nil = none
	Evidence        json.RawMessage   // JSON object; no card data, no secrets; nil allowed
}

// Fact is something learned about a dispatch of a refund, by whatever way.
type Fact struct {
	Kind            FactKind
	Dispatch        int       // ordinal
	Attempt         int       // the attempt that it completes; 0 = none (notice, file, person, our own conclusion)
	AttemptAt       time.Time // when that attempt started: after a restore another one may have its ordinal; zero = not checked
	ChannelRefundID string
	Amount          int64
	Currency        Currency
	Generation      int        // of a conclusion from missing evidence; checked against the row
	Reason          CaseReason // of Deadline
	Code, Rule      string
	RetryAfter      time.Duration
	Voucher         map[string]string // of a success, see Answer
	Source          string            // answer, query, list, notice, settlement, decision, sweeper, cancel
	Actor           string
	Evidence        json.RawMessage
}

// FactOf turns an attempt's answer into a fact.
func FactOf(a Attempt, ans Answer) Fact {
	source := map[AttemptKind]string{AttemptSend: "answer", AttemptQuery: "query", AttemptList: "list"}[a.Kind]
	return Fact{Kind: ans.Kind, Dispatch: a.DispatchNo, Attempt: a.No, AttemptAt: a.StartedAt, ChannelRefundID: ans.ChannelRefundID,
		Amount: ans.Amount, Currency: ans.Currency, Code: ans.Code, Rule: ans.Rule, RetryAfter: ans.RetryAfter, Voucher: ans.Voucher,
		Source: source, Actor: "system:worker", Evidence: ans.Evidence}
}

// hasIdentity says whether a kind has an identity: a status of a number or an effect. Answers that speak only of their own
// attempt have none, else the second of them would look known and move nothing. A person's word has none either (see
// fromChannel): the channel's own word must never look known because of it.
func (k FactKind) hasIdentity() bool {
	return k == Succeeded || k == Acknowledged || k == FailedFinal || k == Reversed
}

// provesRefund says whether a kind tells of a refund that the channel has or had.
func (k FactKind) provesRefund() bool { return k == Succeeded || k == Acknowledged || k == Reversed }

// Disproves says whether this answer of a send proves that the send did nothing and never will.
func Disproves(k FactKind) bool {
	return k == NotSent || k == Retryable || k == RefusedClean || k == RefusedNewNumber
}

// answersLostAttempt says whether the attempt that the fact answers is not the one that has its ordinal now; nil = none has.
func (f Fact) answersLostAttempt(a *Attempt) bool {
	return !f.AttemptAt.IsZero() && (a == nil || !a.StartedAt.Equal(f.AttemptAt))
}

func (f Fact) fromChannel() bool { return f.Source != "decision" }
