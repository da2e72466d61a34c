package refund

import (
	"encoding/json"
	"time"
)

// FactKind is the kind of a fact. Kinds of the first group are also the answers that an attempt can have. The kinds of claims
// are in table.go, of lines in lines.go, of decisions in decision_table.go. Methods: here, in conclusion.go.
//
// A new kind concerns these places, which must agree:
//
//   - what it proves: hasIdentity, provesRefund, Disproves (here), Conclusion (conclusion.go);
//   - the rules of the table, and storeEvidence (apply.go) if it says something lasting about its number;
//   - as an answer of a send: stillExecutable (exposure.go) and numberSpent (dispatch.go) if it is unclear, refusedForGood and
//     decidingRefusal (ranking.go) and failureCode (derive.go) if it is a refusal, proof (mutations.go) if it proves that the number did nothing;
//   - where it may come from: the codes of the contract (internal/channel), Notice.Fact (notice.go), lists (reportable in
//     internal/store), the breaker (outcome in internal/channel);
//   - the constraint attempts_answer_ck of the migrations, if it is an answer;
//   - the oracle (reference_facts_test.go), docs/rules.md, docs/glossary.md and docs/state-machine.md.
type FactKind string

// Answers of a channel (docs/rules.md). Unknown is the default for everything that the contract does not list; it says that one
// call showed nothing, while StateUnknown says that the refund may have been executed.
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

// Our own conclusions, and two of our own actions. The generation fences conclusions.
const (
	LeaseEnd   FactKind = "LEASE_END"   // conclusion: the owner's time is over
	Settled    FactKind = "SETTLED"     // conclusion: exposure has ended with time
	KeyExpired FactKind = "KEY_EXPIRED" // conclusion: the live number is spent (see numberSpent)
	Deadline   FactKind = "DEADLINE"    // conclusion: open for too long, or no automatic step is left
	Withdrawn  FactKind = "WITHDRAWN"   // cancel
	EpochMark  FactKind = "EPOCH_MARK"  // after a restore or failover: a lost send is possible
)

// Answer is a channel's answer to one call, classified by the contract.
type Answer struct {
	Kind            FactKind
	ChannelRefundID string
	Amount          int64    // 0 = not given
	Currency        Currency // "" = not given
	Code            string   // the channel's code, as evidence
	Names           Names
	Rule            string // the contract rule that classified it
	RetryAfter      time.Duration
	Denied          bool              // the channel refused the account's credentials or signature, whatever the code
	Voucher         map[string]string // by which the payer finds the money, e.g. "arn": bounded by VoucherText; nil = none
	Evidence        json.RawMessage   // JSON object; no card data, no secrets; nil allowed
}

// Fact is something learned about a dispatch of a refund, from any source.
type Fact struct {
	Kind            FactKind
	Dispatch        int       // ordinal
	Attempt         int       // the attempt that it completes; 0 = none (notice, file, person, conclusion)
	AttemptAt       time.Time // start of that attempt: after a restore another one may have its ordinal; zero = not checked
	ChannelRefundID string
	Amount          int64
	Currency        Currency
	Generation      int        // of a conclusion; compared with the row
	Reason          CaseReason // of Deadline
	Code, Rule      string
	Names           Names // what the channel's statement names
	RetryAfter      time.Duration
	Voucher         map[string]string // of a success, see Answer
	Source          string            // answer, query, list, notice, settlement, decision, sweeper, cancel
	Actor           string
	Evidence        json.RawMessage
}

// FactOf returns the fact of an attempt's answer.
func FactOf(a Attempt, ans Answer) Fact {
	source := map[AttemptKind]string{AttemptSend: "answer", AttemptQuery: "query", AttemptList: "list"}[a.Kind]
	return Fact{Kind: ans.Kind, Dispatch: a.DispatchNo, Attempt: a.No, AttemptAt: a.StartedAt, ChannelRefundID: ans.ChannelRefundID,
		Amount: ans.Amount, Currency: ans.Currency, Code: ans.Code, Rule: ans.Rule, Names: ans.Names, RetryAfter: ans.RetryAfter, Voucher: ans.Voucher,
		Source: source, Actor: "system:worker", Evidence: ans.Evidence}
}

// hasIdentity reports whether facts of this kind have a key: the status of a number or of an effect. An answer about its own
// attempt only has none, because a second one is news. Neither has a decision (see fromChannel), because the channel's own
// fact must not count as known after it.
func (k FactKind) hasIdentity() bool {
	return k == Succeeded || k == Acknowledged || k == FailedFinal || k == Reversed
}

// provesRefund reports whether facts of this kind prove that the channel has, or had, a refund.
func (k FactKind) provesRefund() bool { return k == Succeeded || k == Acknowledged || k == Reversed }

// Disproves reports whether this answer of a send proves that the send did nothing and never will.
func Disproves(k FactKind) bool {
	return k == NotSent || k == Retryable || k == RefusedClean || k == RefusedNewNumber
}

// answersLostAttempt reports whether the fact answers another attempt than a, which has its ordinal now; nil = none has.
func (f Fact) answersLostAttempt(a *Attempt) bool {
	return !f.AttemptAt.IsZero() && (a == nil || !a.StartedAt.Equal(f.AttemptAt))
}

func (f Fact) fromChannel() bool { return f.Source != "decision" }
