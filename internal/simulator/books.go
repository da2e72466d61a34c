package simulator

import "time"

// Statuses of a refund. They only rise: pending, succeeded, returned; or
// pending, failed.
const (
	statusPending   = "pending"
	statusSucceeded = "succeeded"
	statusFailed    = "failed"
	statusReturned  = "returned"
)

// refund is one refund that a send made, with the send's identity.
type refund struct {
	made
	seq      int64 // its line in the record
	account  string
	number   string
	refundID string
	at       time.Time
	keyKnown bool // a 2xx was given for it; matters where keys are kept only then
}

// status at a moment; everything it depends on was fixed when it was recorded.
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

// moved says whether the money has moved by now, whether or not it came back.
func (r *refund) moved(now time.Time) bool { return !r.Fails && !now.Before(r.SettlesAt) }

// told is the status as callers of the profile see it.
func (r *refund) told(now time.Time, p profile) string {
	status := r.status(now)
	if status == statusReturned && p.lateIsFailed {
		return statusFailed
	}
	return status
}

func (r *refund) visible(now time.Time) bool { return r.VisibleAt == nil || !now.Before(*r.VisibleAt) }

// sameAs compares what a keyed channel compares under one number.
func (r *refund) sameAs(q sendRequest) bool {
	return r.refundID == q.RefundID && r.PaymentReference == q.PaymentReference &&
		r.Asked == q.Amount && r.Currency == q.Currency
}

// at names something inside an account: a number, a payment, a refund id.
type at struct{ account, name string }

// counter names a count of queries or lists.
type counter struct {
	op Op
	at
}

// books is everything the channel knows, rebuilt from the record at start. The
// simulator's lock guards it. Refunds whose line is not on the disk yet are in
// here too; readers leave them out.
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

// enter takes in one recorded send.
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

// read counts a query or a list and returns what the rules match against.
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
	// Kept apart from numbers by a byte that no number contains.
	byID := counter{op, at{account, "\x00" + q.refundID}}
	b.reads[byID]++
	q.nthOfID = b.reads[byID]
	return q
}
