package store

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/pg"
)

// The fixture of the damage tests has a refund in every state, made by the code that makes them in production, on an account that can be
// asked. Each is named by what became of it; its payment is pay_<name>_0.

// damageContract waits for moments where others wait for hours.
func damageContract() refund.Contract {
	c := testContract()
	c.Horizon, c.Key.Lifetime = refund.Duration(20*time.Millisecond), refund.Duration(time.Hour)
	c.Query.Readings, c.Query.ReadingGap = 1, 0
	return c
}

type damageFixture struct{ testDecisions }

func newDamageFixture(t *testing.T) *damageFixture {
	t.Helper()
	url := dbtest.New(t)
	if _, err := migrate.Up(t.Context(), migrate.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	jobs := &jobLog{}
	s, err := Open(t.Context(), Config{URL: url, Accounts: anyAccount{damageContract()}, Enqueuer: jobs, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	f := &damageFixture{testDecisions{&testWorkflow{testStore: &testStore{Store: s, url: url}, jobs: jobs, contract: damageContract()}}}
	f.tenant = f.addTenant(t, "demo")
	if _, err := f.SyncAccounts(t.Context(), []AccountConfig{{Name: "demo", Adapter: "plain", Tenants: []string{"demo"}, Contract: f.contract}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "bob", "cid"} {
		if _, err := f.pool.Exec(t.Context(), sqlAddActor, int64(f.tenant.ID), name, "person"); err != nil {
			t.Fatal(err)
		}
	}
	f.calls(t)
	f.people(t)
	f.lineCases(t)
	f.intakes(t)
	return f
}

// sent is a refund whose send has an answer; "" leaves it open.
func (f *damageFixture) sent(t *testing.T, id string, answer refund.FactKind) refund.RefundRef {
	t.Helper()
	k := f.refund(t, id)
	c := f.claim(t, k, refund.AttemptSend, 100*time.Millisecond)
	switch answer {
	case "":
	case refund.Succeeded:
		f.enter(t, k, succeeded(c, "ch_"+id))
	default:
		fact := answered(c, answer)
		fact.Evidence, fact.Code = []byte(`{"status":"500"}`), "as told"
		f.enter(t, k, fact)
	}
	return k
}

// told receives a notice of the channel about the refund's live number.
func (f *damageFixture) told(t *testing.T, k refund.RefundRef, kind refund.FactKind, id string) {
	t.Helper()
	f.receive(t, notice("told "+string(kind)+" "+id, f.number(t, k), id, kind), refund.NoticeEntered)
}

// asked asks the channel about a dispatch after its absence counts, and gets this answer.
func (f *damageFixture) asked(t *testing.T, k refund.RefundRef, no int, answer refund.FactKind) {
	t.Helper()
	r := f.load(t, k)
	d, _ := r.Dispatch(no)
	f.waitUntil(t, d.AbsenceCountsFrom)
	claim := f.claimOf(f.load(t, k), refund.AttemptQuery, 100*time.Millisecond)
	claim.Dispatch = no
	c, err := f.Claim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	f.enter(t, k, answered(c, answer))
}

// calls are refunds that no person has looked at.
func (f *damageFixture) calls(t *testing.T) {
	f.sent(t, "success", refund.Succeeded)
	f.sent(t, "other", refund.Succeeded)
	f.refund(t, "pending")
	f.sent(t, "failed", refund.RefusedClean)
	f.sent(t, "unknown", refund.Unknown)
	f.sent(t, "accepted", refund.Acknowledged)
	f.sent(t, "renumbered", refund.RefusedNewNumber)
	f.told(t, f.sent(t, "late", refund.RefusedClean), refund.Succeeded, "ch_late")
	f.told(t, f.sent(t, "noticed", refund.Unknown), refund.Succeeded, "ch_noticed")
	f.told(t, f.sent(t, "reversed", refund.Succeeded), refund.Reversed, "ch_reversed")
	taken := f.sent(t, "taken", refund.Unknown)
	f.told(t, taken, refund.FailedFinal, "")
	if _, err := f.Cancel(t.Context(), f.refund(t, "canceled"), "actor:test"); err != nil {
		t.Fatal(err)
	}
	f.sent(t, "processing", "")
	again := f.sent(t, "again", refund.Unknown)
	f.asked(t, again, 1, refund.NotFound)
	f.claim(t, again, refund.AttemptSend, 100*time.Millisecond)
}

// people are refunds that people have decided.
func (f *damageFixture) people(t *testing.T) {
	f.resent(t, "resent")
	doubled := f.resent(t, "doubled") // its old number pays, too
	f.receive(t, notice("doubled", f.load(t, doubled).Dispatches[0].Number, "ch_doubled_again", refund.Succeeded), refund.NoticeEntered)
	f.decide(t, f.stuck(t, f.refund(t, "asking")).RefundRef, refund.ActionResend)
	notdone := f.stuck(t, f.refund(t, "notdone")).RefundRef
	if _, err := f.judge(t, f.propose(t, notdone, refund.ActionConfirmSuccess), false, "bob"); err != nil {
		t.Fatal(err)
	}
	f.decide(t, notdone, refund.ActionWait)
	f.decide(t, notdone, refund.ActionConfirmNotDone)
	f.decide(t, f.stuck(t, f.refund(t, "confirmed")).RefundRef, refund.ActionConfirmSuccess)
	judged, err := f.judge(t, f.propose(t, f.stuck(t, f.refund(t, "waited")).RefundRef, refund.ActionWait), true, "cid")
	if err != nil || judged.AppliedAt.IsZero() {
		t.Fatalf("%+v %v", judged, err)
	}
	if _, err := f.pool.Exec(t.Context(), `UPDATE actors SET disabled_at = now() WHERE name = 'cid'`); err != nil {
		t.Fatal(err)
	}
}

// resent is a refund that was sent again under its next number, by decision, and has succeeded.
func (f *damageFixture) resent(t *testing.T, id string) refund.RefundRef {
	t.Helper()
	k := f.stuck(t, f.refund(t, id)).RefundRef
	f.decide(t, k, refund.ActionResend)
	f.asked(t, k, 1, refund.NotFound)
	f.enter(t, k, succeeded(f.claim(t, k, refund.AttemptSend, 100*time.Millisecond), "ch_"+id))
	return k
}

// stuck is a refund in doubt under a case, its send past everything it can do.
func (f *damageFixture) stuck(t *testing.T, k refund.RefundRef) refund.Record {
	t.Helper()
	c := f.claim(t, k, refund.AttemptSend, 50*time.Millisecond)
	f.enter(t, k, answered(c, refund.Unknown))
	f.plant(t, `UPDATE refunds SET state_since = state_since - interval '2 h' WHERE rid = '`+k.RID.String()+`'`)
	r := f.load(t, k)
	f.enter(t, k, refund.Fact{Kind: refund.Deadline, Reason: refund.CaseDeadline, Generation: r.Generation, Source: "worker", Actor: "system:worker"})
	f.waitUntil(t, c.NotAfter.Add(f.contract.Horizon.D()))
	return f.load(t, k)
}

// lineCases are lines without our number: one that is held, one that was adopted, one that was held and then adopted.
func (f *damageFixture) lineCases(t *testing.T) {
	f.sent(t, "held", refund.Unknown)
	f.lines(t, "pay_held_0", true, foreign("fx_held", 100))
	f.lines(t, "pay_success_0", true, foreign("fx_foreign", 70))
	adopted := f.sent(t, "adopted", refund.Unknown)
	f.lines(t, "pay_adopted_0", true, foreign("fx_adopted", 100))
	f.told(t, adopted, refund.Succeeded, "ch_adopted")
	f.settle(t)
}

// intakes are captures, refusals, repeats, conflicts, a parked message, and a notice that nobody knows yet.
func (f *damageFixture) intakes(t *testing.T) {
	capture := intake.Intake{Tenant: f.tenant, Event: intake.EventID{Consumer: "events", Source: "s", ID: "cap"}, Type: intake.TypePaymentCaptured,
		RID: pg.NewRID(), Actor: "actor:test",
		Capture: &intake.Capture{PaymentID: "pay_cap", CaptureID: "cap_1", OrderID: "ord_1", Amount: 500, Currency: "USD", Account: "demo"}}
	group := []intake.Intake{capture, f.request("ev_refused", "refused", "pay_success_0", 5000, nil), f.request("ev_other", "other_0", "pay_other_0", 100, nil),
		f.request("ev_conflict", "other_0", "pay_other_0", 99, nil), f.request("ev_rest", "again", "pay_success_0", 5000, nil)}
	for i := range group[1:4] { // messages of a bridge, whose deliveries are stored; the last request came over REST
		group[i+1].Event.Consumer, group[i+1].Event.Source = "orders", "/shop"
	}
	out := f.accept(t, group...)
	wantVerdicts(t, out, intake.Taken, intake.Refused, intake.Replayed, intake.Conflict, intake.Refused)
	var deliveries []intake.Delivery
	for i, o := range out[1:4] {
		d := intake.Delivery{Tenant: f.tenant.ID, Event: group[i+1].Event, Transport: "q#1", Outcome: string(o.Verdict), Cause: o.Cause}
		if o.Cause == "" {
			d.Cause = string(o.Code)
		}
		deliveries = append(deliveries, d)
	}
	parked := intake.Delivery{Tenant: f.tenant.ID, Event: intake.EventID{Consumer: "orders", Source: "/shop", ID: "ev_parked"}, Transport: "q#1", Outcome: "PARKED"}
	if err := f.RecordDeliveries(t.Context(), append(deliveries, parked)); err != nil {
		t.Fatal(err)
	}
	f.receive(t, notice("early", "", "ch_early", refund.Succeeded), refund.NoticeKept)
	if _, err := f.pool.Exec(t.Context(), `INSERT INTO parked (tenant_id, parked_id, consumer, source, event_id, position, headers, body, reason,
    tries) VALUES ($1, gen_random_uuid(), 'orders', '/shop', 'ev_parked', 'junk/1', '{}', 'x', 'malformed', 1)`, int64(f.tenant.ID)); err != nil {
		t.Fatal(err)
	}
}
