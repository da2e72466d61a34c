package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

const answerAttemptSQL = `UPDATE attempts SET answered_at = $4, answer = $5, rule = $6, late = $7, evidence = $8
  WHERE tenant_id = $1 AND rid = $2 AND no = $3 AND answer IS NULL`

const updateDispatchSQL = `UPDATE dispatches SET exposed = $4, final_negative_at = $5, acknowledged = $6, channel_refund_id = $7,
    overridden_by = CASE WHEN $8 THEN coalesce(overridden_by, $9) END
  WHERE tenant_id = $1 AND rid = $2 AND no = $3`

const markDispatchSQL = `UPDATE dispatches SET exposed = $4, key_expires_at = least(key_expires_at, $5), may_act_until = $6, marked_epoch = $7
  WHERE tenant_id = $1 AND rid = $2 AND no = $3`

const insertRetirementSQL = `INSERT INTO retired_dispatches (tenant_id, rid, no, proof_attempt, epoch, rule, at, decision_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

const insertDispatchSQL = `INSERT INTO dispatches (tenant_id, rid, no, account, number, at) VALUES ($1, $2, $3, $4, $5, $6)`

// moveRefundSQL is the only statement besides a claim that changes a refund's state. It is guarded by the values that were read under the
// lock and linked to its journal row.
var moveRefundSQL = pg.Named[moveRefundArgs](`WITH moved AS (
    UPDATE refunds r SET state = @state, pending_reason = @pending_reason, failure_code = @failure_code, failure_channel_code = @failure_channel_code,
    exposed = @exposed, case_id = @case_id, ask_no = @ask_no,
      lease_ends_at = @lease_ends_at, next_action_at = @next_action_at, dispatch_no = @dispatch_no, epoch = greatest(r.epoch, @epoch),
      state_since = @state_since, final_at = @final_at,
      updated_at = @at::timestamptz, journal_seq = r.journal_seq + 1,
      journal_head = sha256(r.journal_head || uuid_send(r.rid) || int4send(r.journal_seq + 1) || timestamptz_send(@at::timestamptz) || @digest::bytea)
    WHERE r.tenant_id = @tenant AND r.rid = @rid AND r.generation = @generation AND r.journal_seq = @seq_before AND r.state = @state_before
    RETURNING r.tenant_id, r.rid, r.journal_seq, r.journal_head, r.state, r.generation
  )
  INSERT INTO journal (tenant_id, rid, seq, kind, from_state, to_state, generation, source, actor, fact_key, at, data, digest, hash)
  SELECT tenant_id, rid, journal_seq, @kind, @state_before, state, generation, @source, @actor, @fact_key, @at::timestamptz, @data, @digest::bytea,
    journal_head FROM moved`)

// moveRefundArgs are the parameters of moveRefundSQL.
type moveRefundArgs struct {
	Tenant      int64    `arg:"tenant"`
	RID         [16]byte `arg:"rid"`
	Generation  int      `arg:"generation"`
	SeqBefore   int      `arg:"seq_before"`
	StateBefore string   `arg:"state_before"`

	State              string     `arg:"state"`
	PendingReason      *string    `arg:"pending_reason"`
	FailureCode        *string    `arg:"failure_code"`
	FailureChannelCode *string    `arg:"failure_channel_code"`
	Exposed            bool       `arg:"exposed"`
	CaseID             *[16]byte  `arg:"case_id"`
	AskNo              *int       `arg:"ask_no"`
	LeaseEndsAt        *time.Time `arg:"lease_ends_at"`
	NextActionAt       *time.Time `arg:"next_action_at"`
	DispatchNo         int        `arg:"dispatch_no"`
	Epoch              int        `arg:"epoch"`
	StateSince         time.Time  `arg:"state_since"`
	FinalAt            *time.Time `arg:"final_at"`

	Kind    string    `arg:"kind"` // of the journal row, as all that follow
	Source  string    `arg:"source"`
	Actor   string    `arg:"actor"`
	FactKey []byte    `arg:"fact_key"`
	At      time.Time `arg:"at"`
	Data    string    `arg:"data"`
	Digest  []byte    `arg:"digest"`
}

// touchRefundSQL updates timer, lease and exposure of a change without a journal row.
const touchRefundSQL = `UPDATE refunds r SET exposed = $5, lease_ends_at = $6, next_action_at = $7, pending_reason = $8, updated_at = $9
  WHERE r.tenant_id = $1 AND r.rid = $2 AND r.generation = $3 AND r.journal_seq = $4`

const updateBalancesSQL = `UPDATE payments SET reserved = $3, refunded = $4, held = $5, excess = $6, excess_accepted = $7
    WHERE tenant_id = $1 AND payment_id = $2`

// changeWriter queues one change for the transaction, in the order that the guards of the schema need. Every statement must touch exactly
// one row. Its methods are in enter_write.go, enter_money.go, enter_cases.go and notices_owner.go.
type changeWriter struct {
	b       *pgx.Batch
	ch      *refund.Change
	f       refund.Fact
	tenant  int64
	rid     [16]byte
	newCase refund.RID     // id of the payment's case that the change may open
	at      time.Time      // database time of the record; every row of the change has it
	kept    []storedNotice // notices that waited for a number or id of the change
}

// writeChange gives ids to new effects and cases and sends the change in one round trip. It fills After.JournalHead. Then, in the same
// transaction, it enters notices that waited for a number or an id that the change names.
func (s *Store) writeChange(ctx context.Context, u *unit, tx pgx.Tx, ch *refund.Change, f refund.Fact) error {
	s.assignIDs(ch)
	w := &changeWriter{b: &pgx.Batch{}, ch: ch, f: f, tenant: int64(ch.Before.Tenant), rid: ch.Before.RID, newCase: s.cfg.NewRID(), at: ch.Before.Now}
	w.attempt()
	w.dispatches()
	w.effects()
	w.cases()
	w.steps()
	w.timers()
	w.balances()
	s.keptNotices(w)
	if w.b.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, w.b).Close(); err != nil {
		return err
	}
	u.changed(ch)
	if len(ch.Steps) > 0 && f.Kind != refund.LineSettled && (anyHeld(ch.Before.Effects) || anyHeld(ch.After.Effects) || f.Kind == refund.EpochMark) { // a held line may be free now
		if err := s.enqueue(ctx, tx, refund.Wakeup{RefundRef: refund.RefundRef{Tenant: ch.Before.Tenant}, PaymentID: ch.Before.PaymentID}); err != nil {
			return err
		}
	}
	return s.matchKept(ctx, u, tx, ch.Before.RefundRef, w.kept)
}

func (w *changeWriter) one(what, sql string, args ...any) {
	w.b.Queue(sql, args...).Exec(func(t pgconn.CommandTag) error { return pg.OneRow(t.RowsAffected(), what) })
}

// any queues a statement that may touch no row.
func (w *changeWriter) any(sql string, args ...any) { w.b.Queue(sql, args...) }

func (w *changeWriter) attempt() {
	a := w.ch.Attempt
	if a == nil {
		return
	}
	w.one("answer of an attempt", answerAttemptSQL, w.tenant, w.rid, a.No, w.at, string(a.Answer), pg.Null(a.Rule), a.Late, a.Evidence)
}

// dispatches writes exposure first, because the guards of retirements and of the refund's states read it, and a retirement before the
// dispatch that it allows.
func (w *changeWriter) dispatches() {
	before := w.ch.Before.Dispatches
	for i, d := range w.ch.After.Dispatches {
		if i < len(before) && d != before[i] {
			w.one("dispatch", updateDispatchSQL, w.tenant, w.rid, d.Ordinal, d.Exposed, pg.NullTime(d.FinalNegativeAt), d.Acknowledged, pg.Null(d.ChannelRefundID),
				d.Overridden, pg.NullRID(w.ch.Decision))
			if d.MarkedEpoch != before[i].MarkedEpoch {
				w.one("epoch mark", markDispatchSQL, w.tenant, w.rid, d.Ordinal, d.Exposed, pg.NullTime(d.KeyExpiresAt), pg.NullTime(d.LostSendUntil), d.MarkedEpoch)
			}
		}
	}
	for _, x := range w.ch.Retirements {
		d, _ := w.ch.After.Dispatch(x.Dispatch)
		decision := w.ch.Decision
		if !x.ByDecision {
			decision = refund.RID{}
		}
		w.one("retirement of a dispatch", insertRetirementSQL, w.tenant, w.rid, x.Dispatch, pg.Null(x.ProofAttempt), pg.Null(d.MarkedEpoch), x.Rule, w.at,
			pg.NullRID(decision))
	}
	for _, d := range w.ch.After.Dispatches[len(before):] {
		w.one("new dispatch", insertDispatchSQL, w.tenant, w.rid, d.Ordinal, w.ch.After.Account, d.Number, w.at)
	}
}

// steps writes one guarded UPDATE and one journal row for each step.
func (w *changeWriter) steps() {
	seq, state, head := w.ch.Before.JournalSeq, w.ch.Before.State, w.ch.Before.JournalHead
	for _, t := range w.ch.Steps {
		r, e, digest := t.Row, t.Entry, t.Entry.Digest()
		w.one("transition", moveRefundSQL.SQL, moveRefundSQL.Args(&moveRefundArgs{
			Tenant: w.tenant, RID: w.rid, Generation: r.Generation, SeqBefore: seq, StateBefore: string(state),
			State: string(r.State), PendingReason: pg.Null(string(r.PendingReason)), FailureCode: pg.Null(r.Failure.Code),
			FailureChannelCode: pg.Null(r.Failure.ChannelCode),
			Exposed:            r.Exposed, CaseID: caseID(r.Case), AskNo: pg.Null(r.AskNo), LeaseEndsAt: pg.NullTime(r.LeaseEndsAt),
			NextActionAt: pg.NullTime(r.NextActionAt),
			DispatchNo:   r.DispatchNo, Epoch: r.Epoch, StateSince: r.StateSince, FinalAt: pg.NullTime(r.FinalAt),
			Kind: e.Kind, Source: e.Source, Actor: e.Actor, FactKey: e.FactKey, At: w.at, Data: e.Data, Digest: digest[:],
		})...)
		seq, state = seq+1, r.State
		head = refund.JournalHash(head, r.RID, int32(seq), w.at, digest) // #nosec G115 -- the column is an int4
	}
	w.ch.After.JournalHead = head
}

func (w *changeWriter) timers() {
	b, a := w.ch.Before.Refund, w.ch.After.Refund
	if len(w.ch.Steps) > 0 || (b.Exposed == a.Exposed && b.LeaseEndsAt.Equal(a.LeaseEndsAt) && b.NextActionAt.Equal(a.NextActionAt) &&
		b.PendingReason == a.PendingReason) {
		return
	}
	w.one("timer", touchRefundSQL, w.tenant, w.rid, b.Generation, b.JournalSeq, a.Exposed, pg.NullTime(a.LeaseEndsAt), pg.NullTime(a.NextActionAt),
		pg.Null(string(a.PendingReason)), w.at)
}

func (w *changeWriter) balances() {
	b, a := w.ch.Before.Payment, w.ch.After.Payment
	if b.Reserved == a.Reserved && b.Refunded == a.Refunded && b.Held == a.Held && b.Excess == a.Excess && b.ExcessAccepted == a.ExcessAccepted {
		return
	}
	w.one("balances", updateBalancesSQL, w.tenant, a.PaymentID, a.Reserved, a.Refunded, a.Held, a.Excess, a.ExcessAccepted)
	w.excess()
}

func caseID(c *refund.Case) *[16]byte {
	if c == nil {
		return nil
	}
	id := [16]byte(c.ID)
	return &id
}
