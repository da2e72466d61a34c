package refund

import (
	"slices"
	"testing"
	"time"
)

// classes are the kinds of contracts: the profiles, and contracts that mix their terms differently or make them harder.
func classes(tb testing.TB) map[string]Contract {
	tb.Helper()
	all := map[string]Contract{}
	for _, name := range Profiles() {
		all[name], _ = Profile(name)
	}
	blind := all[ProfileBlind]
	base := func(name string) Contract {
		c := blind
		c.Profile = name
		return c
	}
	list := base("listing")
	list.List = QueryTerms{Exists: true, VisibilityLag: Duration(5 * time.Second), Readings: 1, FirstDelay: Duration(time.Second)}
	list.Codes.LateFailure = true

	replay := base("replaying")
	replay.Key.Dedupes, replay.Key.ReplaysState, replay.Key.Lifetime = true, true, Duration(30*time.Second)

	// The key is kept only after a 2xx. After an ambiguous send it proves nothing, so the contract does not rely on it.
	after2xx := base("kept-after-2xx")
	after2xx.Key.Lifetime = Duration(24 * time.Hour)
	after2xx.List = QueryTerms{Exists: true, VisibilityLag: Duration(2 * time.Second), Readings: 2, ReadingGap: Duration(time.Second)}

	notice := base("noticing")
	notice.Notices, notice.Codes.LateFailure = true, true

	for _, c := range []Contract{list, replay, after2xx, notice} {
		all[c.Profile] = c
	}
	for name, c := range all {
		if err := c.Validate(); err != nil {
			tb.Fatalf("contract %s: %v", name, err)
		}
		c.Version = 1
		all[name] = c
	}
	return all
}

// newRecord is a refund after its acceptance: PENDING, its amount reserved, one number, nothing sent.
func newRecord() Record {
	r := Record{TenantCode: "demo", Installation: "018f6f4e-7c00-7000-8000-000000000001", Now: day0, Facts: map[[32]byte]bool{}}
	r.Refund = Refund{RefundRef: RefundRef{Tenant: 1, RID: RID{15: 7}}, State: StatePending, PendingReason: PendingQueued, Epoch: 1, DispatchNo: 1, JournalSeq: 1,
		NextActionAt: day0, CreatedAt: day0, StateSince: day0,
		Params: Params{RefundID: "rf_1", OrderID: "ord_1", PaymentID: "pay_1", Amount: 1000, Currency: "USD"}}
	r.Dispatches = []Dispatch{{Ordinal: 1, Number: DispatchNumber(r.Installation, r.TenantCode, r.RefundID, 1)}}
	r.Payment = Payment{Tenant: 1, PaymentID: "pay_1", Currency: "USD", Captured: 1500, Reserved: 1000, Refunds: 1}
	return r
}

// claim makes the caller the owner of the next call, as the store's statement does. false = no row was updated.
func claim(r Record, kind AttemptKind, no int, c Contract, now time.Time) (Record, int, bool) {
	if r.LeaseEndsAt.After(now) && !r.LeaseEndsAt.After(now.Add(LongestLease)) {
		return r, 0, false
	}
	r = clone(r)
	d, _ := r.Dispatch(no)
	lease := now.Add(leaseTime)
	notAfter := earlier(now.Add(sendWindow), lease.Add(-leaseMargin))
	if kind == AttemptSend {
		if !onlyWaiting(r.Case) || r.ProposalOpen || r.AskNo != 0 || no != r.DispatchNo || r.SendingHeld || r.Payment.excessUnaccepted() {
			return r, 0, false
		}
		if d.KeyExpiresAt.IsZero() && c.Key.Lifetime > 0 {
			d.KeyExpiresAt = now.Add(c.Key.Lifetime.D())
		}
		if !d.KeyExpiresAt.IsZero() {
			notAfter = earlier(notAfter, d.KeyExpiresAt.Add(-c.Horizon.D()-ClockMargin))
		}
		if !notAfter.After(now) {
			return r, 0, false
		}
		d.Exposed, r.Exposed = true, true
		d.AbsenceCountsFrom = later(d.AbsenceCountsFrom, notAfter.Add(c.Horizon.D()+c.questionTerms().VisibilityLag.D()))
		if r.State == StatePending {
			r.State, r.StateSince, r.PendingReason = StateProcessing, now, ""
		}
	}
	r.Generation++
	r.AttemptNo++
	r.JournalSeq++
	r.LeaseEndsAt, r.NextActionAt, r.Now = lease, lease, now
	r.Attempts = append(r.Attempts, Attempt{No: r.AttemptNo, DispatchNo: no, Kind: kind, Epoch: r.Epoch, Generation: r.Generation,
		ContractVersion: c.Version, StartedAt: now, NotAfter: notAfter})
	return r, r.AttemptNo, true
}

// onlyWaiting reports whether a case has no other reason than that the refund takes too long; nil = no case.
func onlyWaiting(c *Case) bool {
	return !slices.ContainsFunc(reasonsOf(c), func(r CaseReason) bool { return r != CaseDeadline && r != CaseNoStep })
}

// ask adds the attempt of a question without ownership, as "check" does in any state.
func ask(r Record, no int, c Contract, now time.Time) (Record, int) {
	r = clone(r)
	kind := AttemptQuery
	if !c.Query.Exists && c.List.Exists {
		kind = AttemptList
	}
	r.AttemptNo++
	r.Now = now
	r.Attempts = append(r.Attempts, Attempt{No: r.AttemptNo, DispatchNo: no, Kind: kind, Epoch: r.Epoch, Generation: r.Generation,
		ContractVersion: c.Version, StartedAt: now, NotAfter: now.Add(sendWindow)})
	return r, r.AttemptNo
}

var day0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Times of ownership, as the workflow uses them.
const (
	leaseTime   = 10 * time.Second
	leaseMargin = 2 * time.Second
	sendWindow  = 3 * time.Second
)
