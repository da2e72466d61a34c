package pg

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

func ScanDispatch(row pgx.CollectableRow) (refund.Dispatch, error) {
	var (
		d                                    refund.Dispatch
		keyDies, absence, negative, actUntil *time.Time
		marked                               *int
		channelID                            *string
	)
	err := row.Scan(&d.Ordinal, &d.Number, &keyDies, &absence, &d.Exposed, &d.Overridden, &negative, &actUntil, &marked, &d.Acknowledged, &channelID, &d.Retired)
	d.KeyExpiresAt, d.AbsenceCountsFrom, d.FinalNegativeAt, d.MayActUntil = Deref(keyDies), Deref(absence), Deref(negative), Deref(actUntil)
	d.MarkedEpoch, d.ChannelRefundID = Deref(marked), Deref(channelID)
	return d, err
}

func ScanAttempt(row pgx.CollectableRow) (refund.Attempt, error) {
	var (
		a            refund.Attempt
		kind         string
		answered     *time.Time
		answer, code *string
		retryAfterMs *int64
	)
	err := row.Scan(&a.No, &a.DispatchNo, &kind, &a.Epoch, &a.Generation, &a.ContractVersion, &a.StartedAt, &a.NotAfter, &answered,
		&answer, &code, &retryAfterMs)
	a.Kind, a.Answer, a.AnsweredAt = refund.AttemptKind(kind), refund.FactKind(Deref(answer)), Deref(answered)
	a.Code, a.RetryAfter = Deref(code), time.Duration(Deref(retryAfterMs))*time.Millisecond
	return a, err
}

// SourcePerson marks effects that a decision booked; the domain calls the source of such facts "decision".
const SourcePerson = "person"

func ScanEffect(row pgx.CollectableRow) (refund.Effect, error) {
	var (
		e                        refund.Effect
		id                       [16]byte
		dispatch                 *int
		channelID                *string
		currency, status, source string
		reversed                 *time.Time
	)
	err := row.Scan(&id, &e.Ours, &dispatch, &channelID, &e.Amount, &currency, &e.Counted, &status, &source, &e.At, &reversed)
	e.ID, e.DispatchNo, e.ChannelRefundID, e.ReversedAt = id, Deref(dispatch), Deref(channelID), Deref(reversed)
	e.Currency, e.Status, e.ByPerson = refund.Currency(currency), refund.EffectStatus(status), source == SourcePerson
	return e, err
}

func ScanDecision(row pgx.CollectableRow) (refund.Decision, error) {
	var (
		d                refund.Decision
		id, caseID       [16]byte
		effect           *[16]byte
		action           string
		seq              *int
		excess           *int64
		checker, verdict *string
		checked, applied *time.Time
	)
	err := row.Scan(&id, &caseID, &action, &seq, &excess, &effect, &d.Evidence, &d.Maker, &checker, &d.MadeAt, &d.ExpiresAt, &checked, &applied, &verdict)
	d.Action = refund.Action(action)
	d.ID, d.CaseID, d.JournalSeq, d.Excess, d.EffectID = id, caseID, Deref(seq), Deref(excess), Deref(effect)
	d.Checker, d.Verdict, d.CheckedAt, d.AppliedAt = Deref(checker), refund.DecisionVerdict(Deref(verdict)), Deref(checked), Deref(applied)
	return d, err
}
