package refund

import (
	"context"
	"time"
)

// Claim asks for the ownership of a refund's next call. It names the row as it was read; ErrNotOwner if the row has changed.
type Claim struct {
	RefundRef
	State         State
	Generation    int
	JournalSeq    int
	Kind          AttemptKind
	Dispatch      int
	Contract      Contract
	Lease         time.Duration // of the owner
	Margin        time.Duration // before the end of the lease, in which no request leaves
	SendWindow    time.Duration // longest time between claim and first byte
	ClockMargin   time.Duration // subtracted from the key's expiry, because clocks differ
	RequestDigest []byte        // digest of the request to be sent
}

// Claimed is a claim that succeeded: the attempt's row is committed, and the request may leave until Start + Send on the
// local clock.
type Claimed struct {
	Attempt
	Send time.Duration // counted from the local time that was read before the claim
}

// Swept counts the work of one sweeper pass.
type Swept struct {
	Enqueued  int // due refunds that got a job
	TakenOver int // ended leases
	Overdue   int // refunds found later than their bound: no sweeper was running
	TooFar    int // timers that were further away than LongestWait: the clock had run ahead
	Decided   int // approved decisions that took effect
	Expired   int // proposals that expired without approval
	Payments  int // parked messages whose payment became known
	More      bool
}

// Store is the workflow's database. Every method is one transaction.
type Store interface {
	// Load returns a refund as a snapshot. Errors: ErrNotFound.
	Load(ctx context.Context, k RefundRef) (Record, error)
	// Claim makes the caller the owner: generation + 1, lease, attempt's row and journal row. Errors: ErrNotOwner.
	Claim(ctx context.Context, c Claim) (Claimed, error)
	// Enter locks the refund, applies a fact by the table, and writes the change with its follow-up job. Errors: ErrNotOwner
	// for a conclusion that does not hold under the lock.
	Enter(ctx context.Context, k RefundRef, f Fact, c Contract) (Change, error)
	// Reschedule moves the timer of a refund that has to wait. Errors: ErrNotOwner.
	Reschedule(ctx context.Context, k RefundRef, generation int, s Step) error
	// Sweep enqueues due steps, ends expired leases and wakes parked messages.
	Sweep(ctx context.Context, limit int) (Swept, error)
}

// Call is the input of a channel client for one dispatch.
type Call struct {
	Number, RefundID, TenantCode string
	Account, PaymentReference    string
	Amount                       int64
	Currency                     Currency
	Reason                       string
	ChannelRefundID              string // from an earlier answer; "" = not known

	PaymentCaptured int64  // captured amount of the payment in minor units at the time of the call; for channels that need the order's total
	NoticeURL       string // target of the channel's notices, from the account's settings; "" = the channel's own setting
	ReferenceKind   string // which of the channel's names PaymentReference is, from the account's settings; "" = the usual one
}

// ListedEffect is one line of a channel's list of a payment's refunds.
type ListedEffect struct {
	Number, ChannelRefundID string
	Status                  FactKind // Succeeded, Acknowledged, FailedFinal or Reversed
	Amount                  int64
	Currency                Currency

	At   time.Time // when it reached Status, by the channel's clock; zero = not given. Evidence only
	Code string    // the channel's code of a line that failed or needs attention; "" = not given

	Names Names
}

// Channel is the client of one payment channel. It returns no errors: an outcome that cannot be classified is Unknown. The
// context carries the send budget (internal/channel).
type Channel interface {
	Refund(ctx context.Context, c Call) Answer
	// Query asks about our own number. It is only called where the contract has a query.
	Query(ctx context.Context, c Call) Answer
	// List returns the payment's refunds. An incomplete list proves no absence. It is only called where the contract has a
	// list.
	List(ctx context.Context, c Call) (lines []ListedEffect, complete bool, a Answer)
}

// Channels returns the client and the contract of an account.
type Channels interface {
	For(account string) (Channel, Contract, bool)
}

// Wakeup is a job to be enqueued in the transaction that makes it due.
type Wakeup struct {
	RefundRef
	Generation int
	PaymentID  string // set = the messages that wait for this payment, else a step of the refund
}
