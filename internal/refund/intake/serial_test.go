package intake

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/refundry/refundry/internal/refund"
)

// acceptIntakes draws a group over few names, so that its items share identities often.
func acceptIntakes(t *rapid.T, label string, least, most int) []Intake {
	n := rapid.IntRange(least, most).Draw(t, label+" items")
	g := make([]Intake, n)
	for i := range g {
		g[i] = acceptIntake(t, fmt.Sprintf("%s %d", label, i))
	}
	return g
}

func pick[T any](t *rapid.T, what string, of ...T) T { return rapid.SampledFrom(of).Draw(t, what) }

func acceptIntake(t *rapid.T, label string) Intake {
	tenant := pick(t, label+" tenant", refund.Tenant{ID: 1, Code: "one"}, refund.Tenant{ID: 1, Code: "one"}, refund.Tenant{ID: 2, Code: "two"},
		refund.Tenant{ID: 3, Code: "shut", Closed: true})
	consumer := pick(t, label+" consumer", "rest", "events", "orders")
	in := Intake{Tenant: tenant, Event: EventID{Consumer: consumer, Source: pick(t, label+" source", "s", "s", "foreign"),
		ID: pick(t, label+" event", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8")}, Actor: "actor:test", Transport: label}
	in.RID = drawRID(t, label+" rid")
	payment, order := pick(t, label+" payment", "p1", "p1", "p2", "p3"), pick(t, label+" order", "o1", "o1", "o1", "o2")
	amount, currency := pick(t, label+" amount", int64(30), 60, 60, 100), pick(t, label+" currency", refund.Currency("USD"), "USD", "USD", "EUR")
	account, reference := pick(t, label+" account", "demo", "demo", "capped", "other", "none"), pick(t, label+" reference", "", "", "ref")
	if rapid.IntRange(0, 4).Draw(t, label+" kind") == 0 {
		in.Type = TypePaymentCaptured
		in.Capture = &Capture{PaymentID: payment, CaptureID: pick(t, label+" capture", "c1", "c2"), OrderID: order, Amount: amount, Currency: currency,
			Account: account, Reference: reference}
	} else {
		in.Type = TypeRefundRequested
		in.Refund = &Request{Params: refund.Params{RefundID: pick(t, label+" refund", "r1", "r2", "r3", "r4", "r5"), OrderID: order, PaymentID: payment,
			Amount: amount, Currency: currency}}
		if rapid.Bool().Draw(t, label+" inline") {
			in.Refund.Payment = &PaymentSpec{OrderID: order, Amount: pick(t, label+" captured", int64(100), 100, 120), Currency: currency, Account: account,
				Reference:         reference,
				RefundedElsewhere: pick(t, label+" elsewhere", int64(0), 0, 10, 500)}
		}
	}
	if consumer != "rest" {
		in.Park = &Park{Position: positionOf(in).Position, Body: []byte(label)}
	}
	return in
}

func drawRID(t *rapid.T, label string) refund.RID {
	var rid refund.RID
	copy(rid[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
	rid[0] |= 1 // never zero: that means "none"
	return rid
}

func outcomeText(o Outcome) string {
	told := "no refund"
	if o.Refund != nil {
		told = fmt.Sprintf("%+v", *o.Refund)
	}
	return fmt.Sprintf("%s %s %v replayed=%v cause=%s %s", o.Verdict, o.Code, o.Fields, o.Replayed, o.Cause, told)
}

func outcomeTexts(list []Outcome) (out []string) {
	for _, o := range list {
		out = append(out, outcomeText(o))
	}
	return out
}

func (w *memoryStore) inOneGroup(g []Intake) []Outcome {
	plan := DecideGroup(w.read(g), g)
	w.write(plan, g)
	return plan.Outcomes
}

func (w *memoryStore) oneByOne(g []Intake) (out []Outcome) {
	for _, in := range g {
		out = append(out, w.inOneGroup([]Intake{in})...)
	}
	return out
}

// withLosses decides a group while some mutexes and payment rows are held by others in each of the first tries.
func (w *memoryStore) withLosses(t *rapid.T, g []Intake) []Outcome {
	out := make([]Outcome, len(g))
	left := make([]int, len(g))
	for i := range left {
		left[i] = i
	}
	for try := 0; len(left) > 0; try++ {
		var now []Intake
		for _, i := range left {
			now = append(now, g[i])
		}
		v := w.read(now)
		if try < 4 { // then all are free
			for i := range now {
				v.Got[i] = rapid.IntRange(0, 3).Draw(t, "mutex held") > 0
			}
			for ref, p := range v.Payments {
				p.Locked = p.Locked && !slices.Contains([]string{"p1", "p2", "p-r1", "p-r2"}[:rapid.IntRange(0, 4).Draw(t, "rows held")], ref.PaymentID)
				v.Payments[ref] = p
			}
		}
		plan := DecideGroup(v, now)
		w.write(plan, now)
		var lost []int
		for n, i := range left {
			if plan.Outcomes[n].Verdict == NotLocked {
				lost = append(lost, i)
			}
			out[i] = plan.Outcomes[n]
		}
		left = lost
	}
	return out
}

func compareStores(t *rapid.T, what string, a, b *memoryStore, outA, outB []Outcome) {
	told, want := outcomeTexts(outA), outcomeTexts(outB)
	for i := range want {
		if told[i] != want[i] {
			t.Errorf("%s: item %d is\n  %s\none by one it is\n  %s", what, i, told[i], want[i])
		}
	}
	rowsA, rowsB := a.rows(), b.rows()
	if !slices.Equal(rowsA, rowsB) {
		t.Errorf("%s: rows differ\n%s\none by one:\n%s", what, strings.Join(missingFrom(rowsA, rowsB), "\n"), strings.Join(missingFrom(rowsB, rowsA), "\n"))
	}
	for _, wrong := range append(a.violations, a.wrongBalances()...) {
		t.Errorf("%s: %s", what, wrong)
	}
}

func missingFrom(a, b []string) (out []string) {
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// TestGroupEqualsSerial: two groups in a row, each decided at once, against the same items one after another. The second one
// meets the receipts and parked rows of the first.
func TestGroupEqualsSerial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grouped, serial := newMemoryStore(), newMemoryStore()
		for _, label := range []string{"first", "second"} {
			g := acceptIntakes(t, label, 1, 14)
			if label == "second" {
				redriveSome(t, serial, g)
			}
			a, b := grouped.inOneGroup(g), serial.oneByOne(g)
			compareStores(t, label+" group", grouped, serial, a, b)
		}
	})
}

// redriveSome makes some items of the group the redrive of a parked one.
func redriveSome(t *rapid.T, w *memoryStore, g []Intake) {
	for i := range g {
		k := w.parked[positionOf(g[i])]
		if k != nil && k.Done == "" && rapid.Bool().Draw(t, "redriven") {
			id := sum256(fmt.Sprint(positionOf(g[i])))
			g[i].Parked = refund.RID(id[:16])
		}
	}
}

// TestGroupWithLossesEqualsSerial: whatever locks a group does not obtain at first, items with a common event or refund id
// end as if they had come one after another, because a lost item holds back those behind it. Here each refund has its own
// payment.
func TestGroupWithLossesEqualsSerial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grouped, serial := newMemoryStore(), newMemoryStore()
		draw := func(label string, least, most int) (g []Intake) {
			for _, in := range acceptIntakes(t, label, least, most) {
				if in.Refund != nil {
					in.Refund.PaymentID = "p-" + in.Refund.RefundID
					if in.Refund.Payment != nil {
						in.Refund.Payment.Reference = ""
					}
					g = append(g, in)
				}
			}
			return g
		}
		seed := draw("seed", 0, 6)
		grouped.oneByOne(seed)
		serial.oneByOne(seed)
		g := draw("group", 1, 10)
		a, b := grouped.withLosses(t, g), serial.oneByOne(g)
		compareStores(t, "group with losses", grouped, serial, a, b)
	})
}

// TestLossesBreakNothing: items that share payments may overtake lost ones. Constraints and sums hold all the same, and
// every item gets an answer.
func TestLossesBreakNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newMemoryStore()
		for i, o := range w.withLosses(t, acceptIntakes(t, "group", 1, 14)) {
			if o.Verdict == NotLocked || o.Verdict == "" {
				t.Errorf("item %d has no answer", i)
			}
		}
		for _, wrong := range append(w.violations, w.wrongBalances()...) {
			t.Error(wrong)
		}
	})
}
