package simulator

import "time"

// The statuses of a refund. They change from pending to succeeded to returned, or from pending to failed.
const (
	statusPending   = "pending"
	statusSucceeded = "succeeded"
	statusFailed    = "failed"
	statusReturned  = "returned"
)

// refund is one refund of the channel, with the parameters of the send that made it.
type refund struct {
	made
	seq      int64 // its line in the record
	account  string
	number   string
	refundID string
	at       time.Time
	keyKnown bool // a 2xx was given for it; matters where keys are kept only then
}

// status returns the status at a moment. Everything it depends on was fixed when the refund was recorded.
func (r *refund) status(now time.Time) string {
	switch {
	case now.Before(r.SettlesAt):
		return statusPending
	case r.Fails:
		return statusFailed
	case r.ReturnsAt != nil && !now.Before(*r.ReturnsAt):
		return statusReturned
	}
	return statusSucceeded
}

// moved reports whether the money has moved by now, also if it came back.
func (r *refund) moved(now time.Time) bool { return !r.Fails && !now.Before(r.SettlesAt) }

// reported returns the status that callers of the profile get.
func (r *refund) reported(now time.Time, p profile) string {
	status := r.status(now)
	if status == statusReturned && p.lateIsFailed {
		return statusFailed
	}
	return status
}

func (r *refund) visible(now time.Time) bool { return r.VisibleAt == nil || !now.Before(*r.VisibleAt) }

// sameAs reports whether a send has the parameters that a keyed channel compares under one number.
func (r *refund) sameAs(q sendRequest) bool {
	return r.refundID == q.RefundID && r.PaymentReference == q.PaymentReference &&
		r.Asked == q.Amount && r.Currency == q.Currency
}

// at identifies something within an account: a number, a payment, a refund id.
type at struct{ account, name string }

// counter identifies a count of queries or lists.
type counter struct {
	op Op
	at
}

// books is everything that the channel knows, rebuilt from the record at start. The simulator's lock guards it. It contains
// refunds whose line is not on disk yet, which readers leave out.
type books struct {
	all       []*refund
	byNumber  map[at][]*refund
	byPayment map[at][]*refund
	sends     map[at]int    // by number
	idSends   map[at]int    // by refund id
	refundIDs map[at]string // number → refund id, of every send seen
	reads     map[counter]int
	kept      map[at]keptAnswer // by number
	madeAt    map[at]time.Time  // by payment: the last send that made a refund
}

// keptAnswer is the first answer of a number, where the channel keeps it.
type keptAnswer struct {
	at     time.Time
	fault  Fault // that decided it; "" = the refund
	code   string
	asked  asked
	id     string // refund id
	refund *refund
}

func (k keptAnswer) sameAs(q sendRequest) bool {
	return k.id == q.RefundID && k.asked == asked{q.PaymentReference, q.Amount, q.Currency}
}

func newBooks() *books {
	return &books{
		byNumber: map[at][]*refund{}, byPayment: map[at][]*refund{},
		sends: map[at]int{}, idSends: map[at]int{}, refundIDs: map[at]string{}, reads: map[counter]int{},
		kept: map[at]keptAnswer{}, madeAt: map[at]time.Time{},
	}
}

// enter adds one recorded send.
func (b *books) enter(e entry) {
	number := at{e.Account, e.Number}
	b.sends[number]++
	b.idSends[at{e.Account, e.RefundID}]++
	b.refundIDs[number] = e.RefundID
	k := keptAnswer{at: e.At, fault: e.Fault, code: e.Code, id: e.RefundID}
	if e.Asked != nil {
		k.asked = *e.Asked
	}
	if e.Keeps && e.Refund == nil {
		b.kept[number] = k
	}
	if e.Refund == nil {
		return
	}
	r := &refund{
		made: *e.Refund, seq: e.Seq,
		account: e.Account, number: e.Number, refundID: e.RefundID, at: e.At, keyKnown: e.Fault != ErrorAfter,
	}
	if e.Keeps {
		k.asked, k.refund = asked{r.PaymentReference, r.Asked, r.Currency}, r
		b.kept[number] = k
	}
	payment := at{e.Account, r.PaymentReference}
	b.madeAt[payment] = e.At
	b.all = append(b.all, r)
	b.byNumber[number] = append(b.byNumber[number], r)
	b.byPayment[payment] = append(b.byPayment[payment], r)
}

// read counts a query or a list and returns the request for the rules.
func (b *books) read(op Op, account, subject string) request {
	q := request{op: op, account: account, subject: subject}
	if op == OpQuery {
		q.refundID = b.refundIDs[at{account, subject}]
	}
	key := counter{op, at{account, subject}}
	b.reads[key]++
	q.nth = b.reads[key]
	if q.refundID == "" {
		return q
	}
	// The separator is a byte that no number contains.
	byID := counter{op, at{account, "\x00" + q.refundID}}
	b.reads[byID]++
	q.nthOfID = b.reads[byID]
	return q
}
