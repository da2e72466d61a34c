package refund

import (
	"testing"
	"time"
)

// The world of these tests: contracts of every class, records, and a claim as the store makes it, all without a database.

var day0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Times of ownership, as the workflow uses them.
const (
	leaseTime   = 10 * time.Second
	leaseMargin = 2 * time.Second
	sendWindow  = 3 * time.Second
)

// classes are the kinds of promises that a channel can make: the shipped profiles, and contracts that mix their terms
// differently or make them harder.
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

	// The key is kept only after a 2xx: after an ambiguous send it proves nothing, so the contract does not count on it.
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

// born is a refund as the door leaves it: PENDING, its amount reserved, one number, nothing sent.
func born() Record {
	r := Record{TenantCode: "demo", Installation: "018f6f4e-7c00-7000-8000-000000000001", Now: day0, Facts: map[[32]byte]bool{}}
	r.Refund = Refund{RefundRef: RefundRef{Tenant: 1, RID: RID{15: 7}}, State: StatePending, PendingReason: PendingQueued, Epoch: 1, DispatchNo: 1, JournalSeq: 1,
		NextActionAt: day0, CreatedAt: day0, StateSince: day0,
		Params: Params{RefundID: "rf_1", OrderID: "ord_1", PaymentID: "pay_1", Amount: 1000, Currency: "USD"}}
	r.Dispatches = []Dispatch{{Ordinal: 1, Number: DispatchNumber(r.Installation, r.TenantCode, r.RefundID, 1)}}
	r.Payment = Payment{Tenant: 1, PaymentID: "pay_1", Currency: "USD", Captured: 1500, Reserved: 1000, Refunds: 1}
	return r
}

// claim makes the record's owner of the next call, as the store's one statement does it. false = the store gives no row.
func claim(r Record, kind AttemptKind, no int, c Contract, now time.Time) (Record, int, bool) {
	if r.LeaseEndsAt.After(now) {
		return r, 0, false
	}
	r = clone(r)
	d, _ := r.Dispatch(no)
	lease := now.Add(leaseTime)
	notAfter := earlier(now.Add(sendWindow), lease.Add(-leaseMargin))
	if kind == AttemptSend {
		if r.Case != nil || r.AskNo != 0 || no != r.DispatchNo || r.SendingHeld {
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
		d.AbsenceCountsFrom = later(d.AbsenceCountsFrom, notAfter.Add(c.Horizon.D()+c.asking().VisibilityLag.D()))
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

// ask writes the attempt of a question outside ownership, as "check" does it in any state.
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

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// story drives one refund by hand in a named test and fails on the first thing that cannot happen.
type story struct {
	t *testing.T
	r Record
	c Contract
}

func tell(t *testing.T, class string) *story {
	t.Helper()
	c, ok := classes(t)[class]
	if !ok {
		t.Fatalf("no class %q", class)
	}
	return &story{t: t, r: born(), c: c}
}

func (s *story) now() time.Time { return s.r.Now }

func (s *story) after(d time.Duration) { s.r.Now = s.r.Now.Add(d) }

// send claims a send of the live number and returns its attempt.
func (s *story) send() int { s.t.Helper(); return s.claim(AttemptSend, s.r.DispatchNo) }

// query claims a question about a number.
func (s *story) query(no int) int {
	s.t.Helper()
	kind := AttemptQuery
	if !s.c.Query.Exists {
		kind = AttemptList
	}
	return s.claim(kind, no)
}

func (s *story) claim(kind AttemptKind, no int) int {
	s.t.Helper()
	next, attempt, ok := claim(s.r, kind, no, s.c, s.now())
	if !ok {
		s.t.Fatalf("no claim of %s in %s at %v", kind, s.r.State, s.now())
	}
	s.r = next
	return attempt
}

// answer enters the answer of an attempt.
func (s *story) answer(attempt int, a Answer) Change {
	s.t.Helper()
	at, ok := s.r.Attempt(attempt)
	if !ok {
		s.t.Fatalf("no attempt %d", attempt)
	}
	return s.enter(FactOf(*at, a))
}

func (s *story) says(attempt int, kind FactKind) Change {
	s.t.Helper()
	return s.answer(attempt, Answer{Kind: kind})
}

// notice enters a fact that came by itself.
func (s *story) notice(kind FactKind, dispatch int, id string) Change {
	s.t.Helper()
	return s.enter(Fact{Kind: kind, Dispatch: dispatch, ChannelRefundID: id, Source: "notice", Actor: "system:notices"})
}

// conclude enters one of our own conclusions under the current generation.
func (s *story) conclude(kind FactKind, reason CaseReason) Change {
	s.t.Helper()
	return s.enter(Fact{Kind: kind, Generation: s.r.Generation, Reason: reason, Source: "sweeper", Actor: "system:sweeper"})
}

func (s *story) enter(f Fact) Change {
	s.t.Helper()
	ch, err := Apply(s.r, f, s.c)
	if err != nil {
		s.t.Fatalf("%s in %s: %v", f.Kind, s.r.State, err)
	}
	for _, msg := range broken(s.r, ch) {
		s.t.Errorf("%s in %s: %s", f.Kind, s.r.State, msg)
	}
	s.r = ch.After
	return ch
}

// wants checks state, exposure and the reasons of the case in one line.
func (s *story) wants(why string, state State, exposed bool, reasons ...CaseReason) {
	s.t.Helper()
	if s.r.State != state || s.r.Exposed != exposed || !sameReasons(s.r.Case, reasons) {
		s.t.Errorf("%s: got %s exposed=%v case=%v, want %s exposed=%v case=%v", why, s.r.State, s.r.Exposed, reasonsOf(s.r.Case), state, exposed, reasons)
	}
}

// next checks what Decide says now.
func (s *story) next(why string, want StepKind) Step {
	s.t.Helper()
	got := Decide(s.r, s.c, s.now())
	if got.Kind != want {
		s.t.Errorf("%s: next step is %+v, want %s", why, got, want)
	}
	return got
}

func (s *story) balances(why string, reserved, refunded, held int64) {
	s.t.Helper()
	if p := s.r.Payment; p.Reserved != reserved || p.Refunded != refunded || p.Held != held {
		s.t.Errorf("%s: reserved %d refunded %d held %d, want %d %d %d", why, p.Reserved, p.Refunded, p.Held, reserved, refunded, held)
	}
}

func reasonsOf(c *Case) []CaseReason {
	if c == nil {
		return nil
	}
	return c.Reasons
}

func sameReasons(c *Case, want []CaseReason) bool {
	got := reasonsOf(c)
	if len(got) != len(want) {
		return false
	}
	for _, w := range want {
		if !c.Has(w) {
			return false
		}
	}
	return true
}
