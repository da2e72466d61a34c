package pg

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// dispatchRow is a row of dispatches d; x is its row of retired_dispatches.
type dispatchRow struct {
	Ordinal           int        `sql:"d.no"`
	Number            string     `sql:"d.number"`
	KeyExpiresAt      *time.Time `sql:"d.key_expires_at"`
	AbsenceCountsFrom *time.Time `sql:"d.absence_counts_from"`
	Exposed           bool       `sql:"d.exposed"`
	Overridden        bool       `sql:"d.overridden_by IS NOT NULL"`
	FinalNegativeAt   *time.Time `sql:"d.final_negative_at"`
	MayActUntil       *time.Time `sql:"d.may_act_until"`
	MarkedEpoch       *int       `sql:"d.marked_epoch"`
	Acknowledged      bool       `sql:"d.acknowledged"`
	ChannelRefundID   *string    `sql:"d.channel_refund_id"`
	Retired           bool       `sql:"x.no IS NOT NULL"`
}

// DispatchColumns are read by ScanDispatch from DispatchTables.
var DispatchColumns = Columns[dispatchRow]()

// DispatchTables are the dispatches d of refunds, with the retirement x of each if there is one.
const DispatchTables = `dispatches d LEFT JOIN retired_dispatches x ON (x.tenant_id, x.rid, x.no) = (d.tenant_id, d.rid, d.no)`

// ScanDispatch reads DispatchColumns.
func ScanDispatch(row pgx.CollectableRow) (refund.Dispatch, error) { return ScanDispatchAnd(row) }

// ScanDispatchAnd reads DispatchColumns, then the further columns of the query into more.
func ScanDispatchAnd(row pgx.Row, more ...any) (refund.Dispatch, error) {
	d, err := Scan[dispatchRow](row, more...)
	return refund.Dispatch{
		Ordinal: d.Ordinal, Number: d.Number, KeyExpiresAt: Deref(d.KeyExpiresAt), AbsenceCountsFrom: Deref(d.AbsenceCountsFrom),
		Exposed: d.Exposed, Overridden: d.Overridden, FinalNegativeAt: Deref(d.FinalNegativeAt), LostSendUntil: Deref(d.MayActUntil),
		MarkedEpoch: Deref(d.MarkedEpoch), Acknowledged: d.Acknowledged, ChannelRefundID: Deref(d.ChannelRefundID), Retired: d.Retired,
	}, err
}

// attemptRow is a row of attempts a.
type attemptRow struct {
	No              int        `sql:"a.no"`
	DispatchNo      int        `sql:"a.dispatch_no"`
	Kind            string     `sql:"a.kind"`
	Epoch           int        `sql:"a.epoch"`
	Generation      int        `sql:"a.generation"`
	ContractVersion int        `sql:"a.contract_version"`
	StartedAt       time.Time  `sql:"a.started_at"`
	NotAfter        time.Time  `sql:"a.not_after"`
	AnsweredAt      *time.Time `sql:"a.answered_at"`
	Answer          *string    `sql:"a.answer"`
	Code            *string    `sql:"a.evidence->>'code'"`
	RetryAfterMs    *int64     `sql:"(a.evidence->>'retryAfterMs')::bigint"`
}

// AttemptColumns are read by ScanAttempt from attempts a.
var AttemptColumns = Columns[attemptRow]()

// ScanAttempt reads AttemptColumns.
func ScanAttempt(row pgx.CollectableRow) (refund.Attempt, error) { return ScanAttemptAnd(row) }

// ScanAttemptAnd reads AttemptColumns, then the further columns of the query into more.
func ScanAttemptAnd(row pgx.Row, more ...any) (refund.Attempt, error) {
	a, err := Scan[attemptRow](row, more...)
	return refund.Attempt{
		No: a.No, DispatchNo: a.DispatchNo, Kind: refund.AttemptKind(a.Kind), Epoch: a.Epoch, Generation: a.Generation, ContractVersion: a.ContractVersion,
		StartedAt: a.StartedAt, NotAfter: a.NotAfter, AnsweredAt: Deref(a.AnsweredAt), Answer: refund.FactKind(Deref(a.Answer)),
		Code: Deref(a.Code), RetryAfter: time.Duration(Deref(a.RetryAfterMs)) * time.Millisecond,
	}, err
}

// SourcePerson marks effects that a decision booked; the domain calls the source of such facts "decision".
const SourcePerson = "person"

// effectRow is a row of effects e.
type effectRow struct {
	ID              [16]byte   `sql:"e.effect_id"`
	Ours            bool       `sql:"e.rid IS NOT NULL"`
	DispatchNo      *int       `sql:"e.dispatch_no"`
	ChannelRefundID *string    `sql:"e.channel_refund_id"`
	Amount          int64      `sql:"e.amount"`
	Currency        string     `sql:"e.currency"`
	Counted         int64      `sql:"e.counted"`
	Status          string     `sql:"e.status"`
	Source          string     `sql:"e.source"`
	At              time.Time  `sql:"e.at"`
	ReversedAt      *time.Time `sql:"e.reversed_at"`
	ToldAt          *time.Time `sql:"e.told_at"`
	Pending         bool       `sql:"e.pending"`
	CoveredBy       *[16]byte  `sql:"e.covered_by"`
	NotOf           [][16]byte `sql:"e.not_of"`
}

// EffectColumns are read by ScanEffect from effects e.
var EffectColumns = Columns[effectRow]()

// ScanEffect reads EffectColumns.
func ScanEffect(row pgx.CollectableRow) (refund.Effect, error) { return ScanEffectAnd(row) }

// ScanEffectAnd reads EffectColumns, then the further columns of the query into more.
func ScanEffectAnd(row pgx.Row, more ...any) (refund.Effect, error) {
	e, err := Scan[effectRow](row, more...)
	return e.effect(), err
}

// scanEffectOf reads EffectColumns, and notes in notOurs that a person has said of this line that it is not the refund's.
func scanEffectOf(row pgx.CollectableRow, rid refund.RID, notOurs *map[refund.RID]bool) (refund.Effect, error) {
	e, err := Scan[effectRow](row)
	if slices.Contains(e.NotOf, [16]byte(rid)) {
		if *notOurs == nil {
			*notOurs = map[refund.RID]bool{}
		}
		(*notOurs)[e.ID] = true
	}
	return e.effect(), err
}

func (e *effectRow) effect() refund.Effect {
	return refund.Effect{
		ID: e.ID, Ours: e.Ours, DispatchNo: Deref(e.DispatchNo), ChannelRefundID: Deref(e.ChannelRefundID), Amount: e.Amount, Currency: refund.Currency(e.Currency),
		Counted: e.Counted, Status: refund.EffectStatus(e.Status), ByPerson: e.Source == SourcePerson, At: e.At, ReversedAt: Deref(e.ReversedAt),
		ToldAt: Deref(e.ToldAt), Pending: e.Pending, CoveredBy: Deref(e.CoveredBy),
	}
}

// decisionRow is a row of decisions d with the names of its maker m and its checker k.
type decisionRow struct {
	ID           [16]byte   `sql:"d.decision_id"`
	CaseID       [16]byte   `sql:"d.case_id"`
	Action       string     `sql:"d.action"`
	JournalSeq   *int       `sql:"d.journal_seq"`
	Excess       *int64     `sql:"d.excess"`
	EffectID     *[16]byte  `sql:"d.effect_id"`
	BothHappened bool       `sql:"d.both_happened"`
	Evidence     string     `sql:"d.evidence"`
	Maker        string     `sql:"m.name"`
	Checker      *string    `sql:"k.name"`
	MadeAt       time.Time  `sql:"d.made_at"`
	ExpiresAt    time.Time  `sql:"d.expires_at"`
	CheckedAt    *time.Time `sql:"d.checked_at"`
	AppliedAt    *time.Time `sql:"d.applied_at"`
	Verdict      *string    `sql:"d.verdict"`
}

// DecisionsSQL reads a case's decisions for ScanDecision, the newest first. $1 tenant, $2 case, $3 limit.
var DecisionsSQL = `SELECT ` + Columns[decisionRow]() + ` FROM decisions d JOIN actors m ON (m.tenant_id, m.actor_id) = (d.tenant_id, d.maker)
  LEFT JOIN actors k ON (k.tenant_id, k.actor_id) = (d.tenant_id, d.checker)
  WHERE d.tenant_id = $1 AND d.case_id = $2 ORDER BY d.decision_id DESC LIMIT $3`

// MostDecisions bounds how many decisions of one case are read.
const MostDecisions = 100

// ScanDecision reads a row of DecisionsSQL.
func ScanDecision(row pgx.CollectableRow) (refund.Decision, error) {
	d, err := Scan[decisionRow](row)
	return refund.Decision{
		ID: d.ID, CaseID: d.CaseID, Action: refund.Action(d.Action), JournalSeq: Deref(d.JournalSeq), Excess: Deref(d.Excess), EffectID: Deref(d.EffectID),
		BothHappened: d.BothHappened,
		Evidence:     d.Evidence, Maker: d.Maker, Checker: Deref(d.Checker), MadeAt: d.MadeAt, ExpiresAt: d.ExpiresAt,
		CheckedAt: Deref(d.CheckedAt), AppliedAt: Deref(d.AppliedAt), Verdict: refund.DecisionVerdict(Deref(d.Verdict)),
	}, err
}
