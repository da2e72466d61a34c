package simulator

// Fault is one way in which the channel misbehaves.
type Fault string

// The faults. Those of the first group decide the answer to a request, and at most one of them hits a request. The others
// change what happens to a refund, and combine.
const (
	LostAfter   Fault = "lost-after"   // acts, then closes the connection without a byte
	LostBefore  Fault = "lost-before"  // closes the connection without a byte and without acting
	ErrorAfter  Fault = "error-after"  // acts, then answers 500 internal_error
	ErrorBefore Fault = "error-before" // answers 500 internal_error without acting
	Slow        Fault = "slow"         // acts, then answers late
	Refused     Fault = "refused"      // 422 not_refundable_window, without acting
	Echo        Fault = "echo"         // answers as if the refund had been made before, without acting
	RateLimited Fault = "rate-limited" // 429 rate_limited, without acting
	LowBalance  Fault = "low-balance"  // 402 insufficient_balance, without acting

	Pending        Fault = "pending"         // accepted now, money moves later
	PendingFailed  Fault = "pending-failed"  // accepted now, fails for good later, money never moves
	WrongAmount    Fault = "wrong-amount"    // moves and reports another amount than requested
	LateFailure    Fault = "late-failure"    // succeeds, later the money comes back: status returned
	Hidden         Fault = "hidden"          // the refund is missing in queries and lists for a while
	IncompleteList Fault = "incomplete-list" // a list lacks its newest entry and is marked as incomplete

	// Rules of channels, which hit only requests that break them. These get an error and are counted.
	KeyExpired      Fault = "key-expired"      // the key of the number is forgotten: the send counts as new
	Spacing         Fault = "spacing"          // 429 too_soon: less than delayMs (1 s) after the payment's last refund
	CountLimit      Fault = "count-limit"      // 422 refund_count_exceeded: the payment has limit (2) refunds
	DuplicateWindow Fault = "duplicate-window" // 409 duplicate_refund: same payment and amount within delayMs (30 s)

	NoticeLate   Fault = "notice-late"   // sent later, possibly after a later notice
	NoticeTwice  Fault = "notice-twice"  // sent limit (2) times
	NoticeForged Fault = "notice-forged" // a notice with another result and a wrong signature is sent first
	NoticeLost   Fault = "notice-lost"   // never sent
)

// Op is an operation of the protocol.
type Op string

// The operations.
const (
	OpSend  Op = "send"  // POST /v1/refunds
	OpQuery Op = "query" // GET /v1/refunds/{number}
	OpList  Op = "list"  // GET /v1/payments/{reference}/refunds

	OpNotice Op = "notice" // a notice that the channel sends
)

// faultKind says which operations a fault applies to. The first operation is that of a rule without an op. Faults of one
// class exclude each other.
type faultKind struct {
	class string
	ops   []Op
}

const classAnswer = "answer"

// kinds has the operations and the class of every fault.
var kinds = map[Fault]faultKind{
	LostAfter:      {classAnswer, []Op{OpSend, OpQuery, OpList}},
	LostBefore:     {classAnswer, []Op{OpSend, OpQuery, OpList}},
	ErrorAfter:     {classAnswer, []Op{OpSend, OpQuery, OpList}},
	ErrorBefore:    {classAnswer, []Op{OpSend, OpQuery, OpList}},
	Slow:           {classAnswer, []Op{OpSend, OpQuery, OpList}},
	RateLimited:    {classAnswer, []Op{OpSend, OpQuery, OpList}},
	Refused:        {classAnswer, []Op{OpSend}},
	Echo:           {classAnswer, []Op{OpSend}},
	LowBalance:     {classAnswer, []Op{OpSend}},
	Pending:        {"pending", []Op{OpSend}},
	PendingFailed:  {"pending", []Op{OpSend}},
	WrongAmount:    {"amount", []Op{OpSend}},
	LateFailure:    {"return", []Op{OpSend}},
	Hidden:         {"hidden", []Op{OpSend, OpQuery, OpList}},
	IncompleteList: {"complete", []Op{OpList}},

	KeyExpired:      {"key", []Op{OpSend}},
	Spacing:         {"spacing", []Op{OpSend}},
	CountLimit:      {"count", []Op{OpSend}},
	DuplicateWindow: {"duplicate", []Op{OpSend}},

	NoticeLate:   {"notice", []Op{OpNotice}},
	NoticeLost:   {"notice", []Op{OpNotice}},
	NoticeTwice:  {"copies", []Op{OpNotice}},
	NoticeForged: {"forged", []Op{OpNotice}},
}
