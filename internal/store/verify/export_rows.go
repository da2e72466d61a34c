package verify

import (
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// pgBytes is a bytea as PostgreSQL's JSON shows it.
type pgBytes []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *pgBytes) UnmarshalText(text []byte) (err error) {
	digits, ok := strings.CutPrefix(string(text), `\x`)
	if !ok {
		return errors.New("bytes without their mark")
	}
	*b, err = hex.DecodeString(digits)
	return err
}

// Rows of the tables that are checked again; their names are the columns'.
type (
	evRefund struct {
		TenantID    int64           `json:"tenant_id"`
		RID         refund.RID      `json:"rid"`
		RefundID    string          `json:"refund_id"`
		PaymentID   string          `json:"payment_id"`
		OrderID     string          `json:"order_id"`
		Account     string          `json:"account"`
		Currency    refund.Currency `json:"currency"`
		Amount      int64           `json:"amount"`
		Digest      pgBytes         `json:"digest"`
		State       refund.State    `json:"state"`
		Exposed     bool            `json:"exposed"`
		CaseID      *refund.RID     `json:"case_id"`
		Epoch       int             `json:"epoch"`
		Generation  int             `json:"generation"`
		DispatchNo  int             `json:"dispatch_no"`
		AttemptNo   int             `json:"attempt_no"`
		JournalSeq  int             `json:"journal_seq"`
		JournalHead pgBytes         `json:"journal_head"`
		CreatedAt   time.Time       `json:"created_at"`
		StateSince  time.Time       `json:"state_since"`
		FinalAt     *time.Time      `json:"final_at"`
		Exponent    int             `json:"exponent"`
		AskNo       *int            `json:"ask_no"`
		Failure     *string         `json:"failure_code"`
		ChannelCode *string         `json:"failure_channel_code"`
	}
	evEntry struct {
		Seq        int       `json:"seq"`
		Pos        int64     `json:"pos"`
		Kind       string    `json:"kind"`
		From       string    `json:"from_state"`
		To         string    `json:"to_state"`
		Generation int       `json:"generation"`
		Source     string    `json:"source"`
		Actor      string    `json:"actor"`
		FactKey    *pgBytes  `json:"fact_key"`
		At         time.Time `json:"at"`
		Data       string    `json:"data"`
		Digest     pgBytes   `json:"digest"`
		Hash       pgBytes   `json:"hash"`
	}
	evidenceDispatch struct {
		No                int        `json:"no"`
		Number            string     `json:"number"`
		KeyExpiresAt      *time.Time `json:"key_expires_at"`
		AbsenceCountsFrom *time.Time `json:"absence_counts_from"`
		Exposed           bool       `json:"exposed"`
		OverriddenBy      *string    `json:"overridden_by"`
		FinalNegativeAt   *time.Time `json:"final_negative_at"`
		MayActUntil       *time.Time `json:"may_act_until"`
		MarkedEpoch       *int       `json:"marked_epoch"`
		Acknowledged      bool       `json:"acknowledged"`
		ChannelRefundID   *string    `json:"channel_refund_id"`
	}
	evAttempt struct {
		No              int        `json:"no"`
		DispatchNo      int        `json:"dispatch_no"`
		Kind            string     `json:"kind"`
		Epoch           int        `json:"epoch"`
		Generation      int        `json:"generation"`
		ContractVersion int        `json:"contract_version"`
		StartedAt       time.Time  `json:"started_at"`
		NotAfter        time.Time  `json:"not_after"`
		AnsweredAt      *time.Time `json:"answered_at"`
		Answer          *string    `json:"answer"`
	}
	evEffect struct {
		ID              refund.RID      `json:"effect_id"`
		RID             *refund.RID     `json:"rid"`
		DispatchNo      *int            `json:"dispatch_no"`
		ChannelRefundID *string         `json:"channel_refund_id"`
		Amount          int64           `json:"amount"`
		Currency        refund.Currency `json:"currency"`
		Counted         int64           `json:"counted"`
		Status          string          `json:"status"`
		Source          string          `json:"source"`
		At              time.Time       `json:"at"`
		ReversedAt      *time.Time      `json:"reversed_at"`
	}
	evPosting struct {
		EffectID refund.RID      `json:"effect_id"`
		Kind     string          `json:"kind"`
		Debit    string          `json:"debit"`
		Credit   string          `json:"credit"`
		Amount   int64           `json:"amount"`
		Currency refund.Currency `json:"currency"`
	}
	evReceipt struct {
		EventID string  `json:"event_id"`
		Outcome string  `json:"outcome"`
		Digest  pgBytes `json:"digest"`
	}
	evCase struct {
		ID       refund.RID  `json:"case_id"`
		RID      *refund.RID `json:"rid"`
		OpenedAt time.Time   `json:"opened_at"`
		ClosedAt *time.Time  `json:"closed_at"`

		Reasons []refund.CaseReason `json:"reasons"`
	}
	evDecision struct {
		ID        refund.RID  `json:"decision_id"`
		CaseID    refund.RID  `json:"case_id"`
		Action    string      `json:"action"`
		EffectID  *refund.RID `json:"effect_id"`
		Maker     int64       `json:"maker"`
		Checker   *int64      `json:"checker"`
		MadeAt    time.Time   `json:"made_at"`
		AppliedAt *time.Time  `json:"applied_at"`
		Verdict   *string     `json:"verdict"`
		Seq       *int        `json:"journal_seq"`
	}
	evActor struct {
		ID   int64  `json:"actor_id"`
		Name string `json:"name"`
	}
	evidenceRetirement struct {
		No       int         `json:"no"`
		Decision *refund.RID `json:"decision_id"`
		At       time.Time   `json:"at"`
	}
	evOwner struct {
		TenantID *int64      `json:"tenant_id"`
		RID      *refund.RID `json:"rid"`
	}
	evContract struct {
		Account  string          `json:"account"`
		Version  int             `json:"version"`
		Contract refund.Contract `json:"contract"`
	}
)
