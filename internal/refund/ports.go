package refund

import (
	"context"
	"time"
)

// Claim asks to become the owner of a refund's next call. It names what was seen; if the row moved on, ErrNotOwner.
type Claim struct {
	RefundRef
	State      State
	Generation int
	JournalSeq int
	Kind       AttemptKind
	Dispatch   int
	Contract   Contract
	Lease      time.Duration // owner's time
	Margin     time.Duration // before the lease's end no byte leaves
	SendWindow time.Duration // longest time between claim and first byte
	ClockSkew  time.Duration // margin before a key's death
	Request    []byte        // digest of the request to be sent
}

// Claimed is a won claim: the attempt row is durable, the call may be made until Start + Send on the local clock.
type Claimed struct {
	Attempt
	Send time.Duration // how long after the local reading taken before the claim a first byte may leave
}

// Swept counts what one sweeper pass did.
type Swept struct {
	Enqueued  int // due refunds that got a job
	TakenOver int // ended leases
	Overdue   int // refunds that were found later than their bound: nobody was looking
	Decided   int // approved decisions that took effect
	Expired   int // proposals that nobody approved in time
	Payments  int // parked waiters whose payment is known
	More      bool
}

// Store is what the workflow needs from the database. Every method is one transaction.
type Store interface {
	// Load reads a refund as a snapshot. ErrNotFound.
	Load(ctx context.Context, k RefundRef) (Record, error)
	// Claim: generation + 1, lease, attempt row, journal. ErrNotOwner.
	Claim(ctx context.Context, c Claim) (Claimed, error)
	// Enter locks the refund, applies a fact by the table, writes the change and its follow-up job. ErrNotOwner for a
	// conclusion whose generation has passed.
	Enter(ctx context.Context, k RefundRef, f Fact, c Contract) (Change, error)
	// Reschedule moves the timer of a refund that has to wait. ErrNotOwner.
	Reschedule(ctx context.Context, k RefundRef, generation int, s Step) error
	// Sweep hands due work to jobs, takes over ended leases, wakes parked waiters.
	Sweep(ctx context.Context, limit int) (Swept, error)
}

// Call is what a channel client needs of a dispatch.
type Call struct {
	Number, RefundID, TenantCode string
	Account, PaymentReference    string
	Amount                       int64
	Currency                     Currency
	Reason                       string
	ChannelRefundID              string // known from an earlier answer, else ""

	PaymentCaptured int64  // captured of the payment, minor units, when the call is made; channels that ask for the order's total take it
	NoticeURL       string // where the channel sends its notices; an account's setting, "" = as the channel has it
	ReferenceKind   string // which of the channel's names PaymentReference is; an account's setting, "" = the channel's usual one
}

// ListedEffect is one line of a channel's list of a payment's refunds.
type ListedEffect struct {
	Number, ChannelRefundID string
	Status                  FactKind // Succeeded, Acknowledged, FailedFinal or Reversed
	Amount                  int64
	Currency                Currency

	At   time.Time // when it reached Status, as the channel says; zero = not said. Evidence: decides nothing
	Code string    // the channel's code of a line that failed or needs attention; "" = not said
}

// Channel is one payment channel's client. An error never leaves it: what cannot be classified is Unknown.
// The context carries the send budget (internal/channel).
type Channel interface {
	Refund(ctx context.Context, c Call) Answer
	// Query asks under our own number. Only called where the contract says that it exists.
	Query(ctx context.Context, c Call) Answer
	// List tells the payment's refunds; complete=false proves nothing. Only called where the contract has a list.
	List(ctx context.Context, c Call) (lines []ListedEffect, complete bool, a Answer)
}

// Channels finds the client and the contract of an account.
type Channels interface {
	For(account string) (Channel, Contract, bool)
}

// Wakeup asks for a job, in the transaction that makes it due.
type Wakeup struct {
	RefundRef
	Generation int
	PaymentID  string // set = wake what waits for this payment, else a refund step
}
