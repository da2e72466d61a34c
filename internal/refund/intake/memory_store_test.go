package intake

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// memoryStore is the database in memory, as far as acceptance reads it. It is read and written as by the store, and it
// reports violations of the schema's constraints.
type memoryStore struct {
	receipts   map[EventRef]NewReceipt
	refunds    map[RefundKey]NewRefund
	payments   map[PaymentRef]refund.Payment
	captures   map[CaptureRef]int64
	conflicts  map[conflictIdentity]conflictRow
	parked     map[parkedPosition]*parkedRow
	wakes      map[string]int
	violations []string
}

type conflictIdentity struct {
	EventRef
	RefundID string
	Got      [32]byte
}

type conflictRow struct {
	Kind   ConflictKind
	Fields string
	Times  int
}

type parkedPosition struct {
	Tenant             refund.TenantID
	Consumer, Position string
}

type parkedRow struct {
	Reason, Wake, Done string
	Tries              int
}

// positionOf returns where an item was parked. A position has one message for ever.
func positionOf(in Intake) parkedPosition {
	return parkedPosition{in.Tenant.ID, in.Event.Consumer, in.Event.Source + "/" + in.Event.ID + " " + in.CanonicalParams()}
}

var acceptTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newMemoryStore() *memoryStore {
	return &memoryStore{receipts: map[EventRef]NewReceipt{}, refunds: map[RefundKey]NewRefund{}, payments: map[PaymentRef]refund.Payment{},
		captures: map[CaptureRef]int64{}, conflicts: map[conflictIdentity]conflictRow{}, parked: map[parkedPosition]*parkedRow{}, wakes: map[string]int{}}
}

// read returns a group's view with all mutexes obtained.
func (w *memoryStore) read(g []Intake) View {
	v := View{Now: acceptTime, Installation: "018f6f4e-7c00-7000-8000-000000000001", Epoch: 1, Got: make([]bool, len(g)),
		Receipts: map[EventRef]Receipt{}, Refunds: map[RefundKey]refund.Refund{}, Payments: map[PaymentRef]SeenPayment{},
		References: map[ReferenceRef]PaymentRef{}, Captures: map[CaptureRef]int64{}, Waiters: map[PaymentRef]bool{}, Account: acceptAccounts}
	for i, in := range g {
		v.Got[i] = true
		w.readIdentities(v, in)
		ref := PaymentRef{in.Tenant.ID, in.PaymentID()}
		if p, ok := w.payments[ref]; ok {
			wanted := in.Capture != nil
			if in.Refund != nil {
				_, known := w.refunds[RefundKey{in.Tenant.ID, in.Refund.RefundID}]
				wanted = !known
			}
			v.Payments[ref] = SeenPayment{Payment: p, Locked: wanted || v.Payments[ref].Locked}
		}
		for at, k := range w.parked {
			if at.Tenant == ref.Tenant && k.Wake == ref.PaymentID && k.Done == "" {
				v.Waiters[ref] = true
			}
		}
	}
	for ref, p := range w.payments {
		v.References[ReferenceRef{p.Account, p.Reference}] = ref
	}
	return v
}

func (w *memoryStore) readIdentities(v View, in Intake) {
	if r, ok := w.receipts[event(in)]; ok {
		v.Receipts[event(in)] = r.Receipt
		if known, ok := w.refunds[RefundKey{in.Tenant.ID, r.RefundID}]; ok {
			v.Refunds[RefundKey{in.Tenant.ID, r.RefundID}] = known.Refund
		}
	}
	if in.Refund != nil {
		if known, ok := w.refunds[RefundKey{in.Tenant.ID, in.Refund.RefundID}]; ok {
			v.Refunds[RefundKey{in.Tenant.ID, in.Refund.RefundID}] = known.Refund
		}
		return
	}
	at := CaptureRef{PaymentRef{in.Tenant.ID, in.Capture.PaymentID}, in.Capture.CaptureID}
	if amount, ok := w.captures[at]; ok {
		v.Captures[at] = amount
	}
}

// acceptAccounts: everybody may use "demo", "capped" allows three refunds of a payment, "other" belongs to another tenant.
func acceptAccounts(name string, _ refund.TenantID) (refund.Contract, bool, bool) {
	switch name {
	case "demo":
		return refund.Contract{}, true, true
	case "capped":
		return refund.Contract{Limits: refund.LimitTerms{MaxRefunds: 3}}, true, true
	case "other":
		return refund.Contract{}, true, false
	}
	return refund.Contract{}, false, false
}

func (w *memoryStore) refuse(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

// write applies a plan in the order of the store.
func (w *memoryStore) write(p Plan, g []Intake) {
	for _, r := range p.Receipts {
		if _, twice := w.receipts[r.EventRef]; twice {
			w.refuse("receipts_pk: %v", r.EventRef)
		}
		if r.Type == TypeRefundRequested && (r.Outcome == Taken || r.Outcome == Replayed) && r.RID.IsZero() {
			w.refuse("receipts_rid_ck: %v", r.EventRef)
		}
		if (r.Outcome == Conflict || r.Outcome == Refused) && r.Code == "" {
			w.refuse("receipts_code_ck: %v", r.EventRef)
		}
		w.receipts[r.EventRef] = r
	}
	w.writeMoney(p)
	for _, c := range p.Conflicts {
		id := conflictIdentity{c.EventRef, c.RefundID, c.GotDigest}
		seen := w.conflicts[id]
		if seen.Times == 0 {
			seen.Kind, seen.Fields = c.Kind, fmt.Sprint(c.Fields)
		}
		seen.Times++
		w.conflicts[id] = seen
	}
	w.writeParked(p, g)
	for _, k := range p.Wakes {
		w.wakes[fmt.Sprintf("%d/%s/%s", k.Tenant, k.RID, k.PaymentID)]++
	}
}

func (w *memoryStore) writeMoney(p Plan) {
	for _, n := range p.Payments {
		ref := PaymentRef{n.Tenant, n.PaymentID}
		if _, twice := w.payments[ref]; twice {
			w.refuse("payments_pk: %v", ref)
		}
		for _, other := range w.payments {
			if other.Account == n.Account && other.Reference == n.Reference {
				w.refuse("payments_reference_uq: %s %s", n.Account, n.Reference)
			}
		}
		w.payments[ref] = n
	}
	for _, r := range p.Refunds {
		ref := RefundKey{r.Tenant, r.RefundID}
		if _, twice := w.refunds[ref]; twice {
			w.refuse("refund_keys_pk: %v", ref)
		}
		if _, known := w.payments[PaymentRef{r.Tenant, r.PaymentID}]; !known {
			w.refuse("refunds_payment_fk: %v", ref)
		}
		w.refunds[ref] = r
	}
	for _, c := range p.Captures {
		if _, twice := w.captures[c.CaptureRef]; twice {
			w.refuse("captures_pk: %v", c.CaptureRef)
		}
		w.captures[c.CaptureRef] = c.Amount
	}
	for _, n := range p.Touched {
		w.payments[PaymentRef{n.Tenant, n.PaymentID}] = n
	}
	for ref, n := range w.payments {
		if n.Excess != max(0, n.Reserved+n.Refunded+n.RefundedElsewhere+n.Held-n.Captured) || n.Excess != 0 {
			w.refuse("payments_not_over_refunded_ck: %v", ref)
		}
	}
}

func (w *memoryStore) writeParked(p Plan, g []Intake) {
	for _, k := range p.Parked {
		at := parkedPosition{k.Tenant, k.Consumer, k.Position}
		if known := w.parked[at]; known != nil {
			known.Tries++
			if k.WakePayment != "" {
				known.Reason, known.Wake = k.Reason, k.WakePayment
			}
			continue
		}
		w.parked[at] = &parkedRow{Reason: k.Reason, Wake: k.WakePayment, Tries: 1}
	}
	for _, u := range p.Unparked {
		at := slices.IndexFunc(g, func(in Intake) bool { return in.Parked == u.ID })
		k := w.parked[positionOf(g[at])]
		if k == nil || k.Done != "" {
			continue
		}
		if u.How != "" {
			k.Done = u.How
			continue
		}
		k.Reason, k.Wake, k.Tries = u.Reason, "", k.Tries+1
	}
}

// wrongBalances returns payments whose balances are not the sum of their refunds and captures.
func (w *memoryStore) wrongBalances() []string {
	var out []string
	for ref, p := range w.payments {
		var reserved, captured int64
		var n int
		for _, r := range w.refunds {
			if r.Tenant == ref.Tenant && r.PaymentID == ref.PaymentID {
				reserved += r.Amount
				n++
			}
		}
		for at, amount := range w.captures {
			if at.PaymentRef == ref {
				captured += amount
			}
		}
		if p.Reserved != reserved || p.Refunds != n || (p.KnownBy == refund.ByCaptures && p.Captured != captured) {
			out = append(out, fmt.Sprintf("%v: reserved %d of %d, %d refunds of %d, captured %d of %d", ref, p.Reserved, reserved, p.Refunds, n, p.Captured, captured))
		}
	}
	return out
}

// rows returns all rows as text, for comparison.
func (w *memoryStore) rows() []string {
	var out []string
	for _, r := range w.receipts {
		out = append(out, fmt.Sprintf("receipt %+v", r))
	}
	for _, r := range w.refunds {
		out = append(out, fmt.Sprintf("refund %+v", r))
	}
	for _, p := range w.payments {
		out = append(out, fmt.Sprintf("payment %+v", p))
	}
	for k, a := range w.captures {
		out = append(out, fmt.Sprintf("capture %v %d", k, a))
	}
	for k, c := range w.conflicts {
		out = append(out, fmt.Sprintf("conflict %v %+v", k, c))
	}
	for k, p := range w.parked {
		out = append(out, fmt.Sprintf("parked %v %+v", k, *p))
	}
	for _, k := range slices.Sorted(maps.Keys(w.wakes)) {
		if strings.HasSuffix(k, "/") {
			out = append(out, fmt.Sprintf("wake %s %d", k, w.wakes[k]))
		} else { // a group wakes a payment once, however many of its captures are in it
			out = append(out, "wake "+k)
		}
	}
	sort.Strings(out)
	return out
}
