package simulator

// Fault names one way in which the channel misbehaves.
type Fault string

// The faults. Those of the first group decide how a request is answered, and at
// most one of them hits a request; the others change what happens to a refund
// that is made and combine freely.
const (
	LostAfter   Fault = "lost-after"   // acts, then closes the connection without a byte
	LostBefore  Fault = "lost-before"  // closes the connection without a byte and without acting
	ErrorAfter  Fault = "error-after"  // acts, then answers 500 internal_error
	ErrorBefore Fault = "error-before" // answers 500 internal_error without acting
	Slow        Fault = "slow"         // acts, then answers late
	Refused     Fault = "refused"      // 422 not_refundable_window, did nothing and never will
	Echo        Fault = "echo"         // answers as if the refund had been made before, without acting
	RateLimited Fault = "rate-limited" // 429 rate_limited, did nothing
	LowBalance  Fault = "low-balance"  // 402 insufficient_balance, did nothing

	Pending        Fault = "pending"         // accepted now, money moves later
	PendingFailed  Fault = "pending-failed"  // accepted now, fails for good later, money never moves
	WrongAmount    Fault = "wrong-amount"    // moves (and reports) another amount than asked
	LateFailure    Fault = "late-failure"    // succeeds, later the money comes back: status returned
	Hidden         Fault = "hidden"          // queries and lists do not see the refund for a while
	IncompleteList Fault = "incomplete-list" // a list leaves out its newest entry and says so

	// Rules of channels, which hit only what breaks them. They are answered with an error and counted.
	KeyExpired      Fault = "key-expired"      // the number's key is forgotten: the send is a new one
	Spacing         Fault = "spacing"          // 429 too_soon: less than delayMs (1 s) after the payment's last refund
	CountLimit      Fault = "count-limit"      // 422 refund_count_exceeded: the payment has limit (2) refunds
	DuplicateWindow Fault = "duplicate-window" // 409 duplicate_refund: same payment and amount within delayMs (30 s)

	NoticeLate   Fault = "notice-late"   // told later, and so perhaps after what came after it
	NoticeTwice  Fault = "notice-twice"  // told limit (2) times
	NoticeForged Fault = "notice-forged" // before it comes one that tells another end, with a signature that does not fit
	NoticeLost   Fault = "notice-lost"   // never told
)

// Op names what a caller asked for.
type Op string

// The operations of the protocol.
const (
	OpSend  Op = "send"  // POST /v1/refunds
	OpQuery Op = "query" // GET /v1/refunds/{number}
	OpList  Op = "list"  // GET /v1/payments/{reference}/refunds

	OpNotice Op = "notice" // a notice that the channel sends
)

// faultKind says where a fault may strike. The first operation is the one that a
// rule without an op means. Faults of one class exclude each other.
type faultKind struct {
	class string
	ops   []Op
}

const classAnswer = "answer"

// kinds is the whole knowledge about which fault fits which operation.
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
