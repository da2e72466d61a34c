package store

import (
	"slices"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// groupKeys are the distinct look-up keys of a group, as the arrays that the statements take.
type groupKeys struct {
	mutexes []int64
	items   [][]int64 // mutexes of each item

	eventTenants                 []int64
	consumers, sources, eventIDs []string

	refundTenants []int64
	refundIDs     []string
	numbers       []string // under which the channel will know the refunds, if they are new

	payTenants         []int64
	payIDs, payRefunds []string // payRefunds: the refund of the payment; "" for a capture

	accounts, references []string // of payments that the group may create

	captureTenants          []int64
	capturePays, captureIDs []string
}

// Kinds of advisory keys. A group only tries them; whoever waits for several takes them in this order.
const (
	lockEvent     = "event"
	lockRefund    = "refund"
	lockPayment   = "payment"
	lockReference = "reference" // of no tenant: two tenants may share an account
)

func (s *Store) keysOf(g []intake.Intake) *groupKeys {
	k := &groupKeys{items: make([][]int64, len(g))}
	seen := map[any]bool{}
	first := func(key any) bool {
		was := seen[key]
		seen[key] = true
		return !was
	}
	for i, in := range g {
		k.mutex(i, s.advisory(lockEvent, in.Tenant.ID, in.Event.Consumer+"\x00"+in.Event.Source+"\x00"+in.Event.ID), first)
		if first(intake.EventRef{Tenant: in.Tenant.ID, EventID: in.Event}) {
			k.eventTenants = append(k.eventTenants, int64(in.Tenant.ID))
			k.consumers = append(k.consumers, in.Event.Consumer)
			k.sources = append(k.sources, in.Event.Source)
			k.eventIDs = append(k.eventIDs, in.Event.ID)
		}
		if c := in.Capture; c != nil {
			k.mutex(i, s.advisory(lockPayment, in.Tenant.ID, c.PaymentID), first)
			k.payment(in, "", first)
			k.mutex(i, s.reference(k.reference(in, intake.PaymentSpec{Account: c.Account, Reference: c.Reference}, first)), first)
			if first(intake.CaptureRef{PaymentRef: intake.PaymentRef{Tenant: in.Tenant.ID, PaymentID: c.PaymentID}, CaptureID: c.CaptureID}) {
				k.captureTenants = append(k.captureTenants, int64(in.Tenant.ID))
				k.capturePays = append(k.capturePays, c.PaymentID)
				k.captureIDs = append(k.captureIDs, c.CaptureID)
			}
			continue
		}
		k.mutex(i, s.advisory(lockRefund, in.Tenant.ID, in.Refund.RefundID), first)
		if first(intake.RefundKey{Tenant: in.Tenant.ID, RefundID: in.Refund.RefundID}) {
			k.refundTenants = append(k.refundTenants, int64(in.Tenant.ID))
			k.refundIDs = append(k.refundIDs, in.Refund.RefundID)
			k.numbers = append(k.numbers, refund.DispatchNumber(s.identity.installation, in.Tenant.Code, in.Refund.RefundID, 1))
		}
		k.payment(in, in.Refund.RefundID, first)
		if in.Refund.Payment != nil {
			k.mutex(i, s.advisory(lockPayment, in.Tenant.ID, in.Refund.PaymentID), first)
			k.mutex(i, s.reference(k.reference(in, *in.Refund.Payment, first)), first)
		}
	}
	slices.Sort(k.mutexes) // one of two groups with the same keys gets them all, instead of half each
	return k
}

func (s *Store) advisory(kind string, t refund.TenantID, id string) int64 {
	return refund.AdvisoryKey(s.cfg.Schema, kind, t, id)
}

// reference is the mutex of a channel reference. Without it two payments that claim one reference would wait for each other in the unique
// index.
func (s *Store) reference(at intake.ReferenceRef) int64 {
	return s.advisory(lockReference, 0, at.Account+"\x00"+at.Reference)
}

func (k *groupKeys) mutex(item int, key int64, first func(any) bool) {
	k.items[item] = append(k.items[item], key)
	if first(key) {
		k.mutexes = append(k.mutexes, key)
	}
}

func (k *groupKeys) payment(in intake.Intake, refundID string, first func(any) bool) {
	type want struct {
		intake.PaymentRef
		refundID string
	}
	if first(want{intake.PaymentRef{Tenant: in.Tenant.ID, PaymentID: in.PaymentID()}, refundID}) {
		k.payTenants = append(k.payTenants, int64(in.Tenant.ID))
		k.payIDs = append(k.payIDs, in.PaymentID())
		k.payRefunds = append(k.payRefunds, refundID)
	}
}

func (k *groupKeys) reference(in intake.Intake, s intake.PaymentSpec, first func(any) bool) intake.ReferenceRef {
	at := intake.ReferenceRef{Account: s.Account, Reference: s.ReferenceFor(in.Tenant, in.PaymentID())}
	if first(at) {
		k.accounts = append(k.accounts, at.Account)
		k.references = append(k.references, at.Reference)
	}
	return at
}

// got reports for each item whether all its mutexes were obtained.
func (k *groupKeys) got(free map[int64]bool) []bool {
	out := make([]bool, len(k.items))
	for i, keys := range k.items {
		out[i] = true
		for _, key := range keys {
			out[i] = out[i] && free[key]
		}
	}
	return out
}
