package crash

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/test/e2e/harness"
)

// pair is a payment with a line that is taken for the wrong refund until the channel reports its owner.
//
// mistaken moved its money, but the call was cut off and the list does not show it for a moment. The list shows a refund of
// the same amount that another party has made, under the number that owner will get, which is not requested yet. A person
// therefore confirms mistaken, and the id of the line is assigned to an effect without one. When owner is requested, the
// channel answers with that id: the line belongs to owner.
type pair struct {
	s                         *site
	account, payment          string
	mistaken, owner, neighbor string
	channel                   *harness.Client
	people                    people
}

// tries limits how often the list may come too late on a slow machine.
const tries = 4

// pairs kills the program where a line is paired and where it is unpaired, on payments of their own.
func (s *site) pairs(y *tally, round int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*time.Minute)
	defer cancel()
	var p *pair
	for try := range tries {
		id := fmt.Sprintf("pair%d-%d", round, try)
		p = &pair{s: s, account: "demo-key-after-2xx", payment: "p-" + id, mistaken: id + "-m", owner: id + "-o", neighbor: id + "-n", channel: s.channel(),
			people: peopleOf(s.dev)}
		s.dev.LaunchArmed(fault.LinePairedWritten.String() + ":1")
		p.rules(ctx)
		if p.confirm(ctx) {
			break
		}
		s.dev.Kill()
		s.kills++
	}
	s.fallen(y, fault.LinePairedWritten)
	for _, step := range []struct {
		at      fault.Name
		provoke func(context.Context)
	}{
		{fault.LinePairedCommitted, func(ctx context.Context) { p.check(ctx, p.neighbor) }},
		{fault.LineUnpairedWritten, p.claim},
		{fault.LineUnpairedCommitted, func(ctx context.Context) { p.check(ctx, p.owner) }},
	} {
		s.dev.LaunchArmed(step.at.String() + ":1")
		p.rules(ctx)
		done := s.provoke(ctx, step.provoke)
		s.fallen(y, step.at)
		done()
	}
}

// provoke repeats an action until done is called, since the answer may be lost with the program.
func (s *site) provoke(ctx context.Context, do func(context.Context)) (done func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(200 * time.Millisecond); ctx.Err() == nil; {
			do(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
				tick.Stop()
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// fallen waits until the program is killed at a point.
func (s *site) fallen(y *tally, at fault.Name) {
	s.t.Helper()
	s.kills++
	if s.waitKilled(place{at.String(), 1, time.Minute}) {
		y.hit(at.String())
	}
}

// confirm leads mistaken into a case, which people confirm. false = the list came too late.
func (p *pair) confirm(ctx context.Context) bool {
	p.s.t.Helper()
	cut := harness.Rule{Fault: "lost-after", RefundID: p.mistaken}
	late := harness.Rule{Fault: "hidden", RefundID: p.mistaken, DelayMS: 20_000}
	p.rules(ctx, cut, late)
	installation := p.s.dev.DB().Text(ctx, `SELECT installation_id FROM installation`)
	number := refund.DispatchNumber(installation, "demo", p.owner, 1)
	p.s.byOthers[number]++
	if (strangeSend{number, p.owner, p.account, reference(p.payment), 300, "USD"}).make(ctx, p.channel) == "" {
		p.s.t.Fatal("the channel did not make the foreign refund")
	}
	p.people.maker.Accept(ctx, request(p.neighbor, p.payment, p.account, 200, 5000))
	p.people.maker.UntilState(ctx, p.neighbor, "SUCCESS", 30*time.Second)
	p.people.maker.Accept(ctx, request(p.mistaken, p.payment, p.account, 300, 0))
	p.people.maker.UntilState(ctx, p.mistaken, "UNKNOWN", 30*time.Second)
	p.check(ctx, p.neighbor)
	p.rules(ctx, cut, late, harness.Rule{Fault: "lost-before", Op: "list", Account: p.account}) // from now on the list is lost
	r := p.people.maker.Refund(ctx, p.mistaken)
	if r.State != "UNKNOWN" || r.Case == nil {
		return false
	}
	if moves, err := p.people.moves(p.mistaken); err != nil || !moves {
		p.s.t.Fatalf("%s has moved, but the channel's record says %t, %v", p.mistaken, moves, err)
	}
	var d struct{ ID string }
	path := "/v1/cases/" + r.Case.ID
	return p.people.say(ctx, p.s.t, p.people.maker, path+"/decision", proposal{Action: "confirm-success",
		Evidence: "the channel's record, page " + p.payment}, &d) &&
		p.people.say(ctx, p.s.t, p.people.checker, path+"/approval", map[string]string{"verdict": "approve", "decisionId": d.ID}, nil)
}

// rules sets the rules of the channel as soon as it runs, before the service does, so that it sends no notice of the two.
func (p *pair) rules(ctx context.Context, rules ...harness.Rule) {
	p.s.t.Helper()
	for _, quiet := range []string{p.mistaken, p.owner} {
		rules = append(rules, harness.Rule{Fault: "notice-lost", RefundID: quiet})
	}
	harness.Eventually(p.s.t, time.Minute, "the channel accepts rules", func() (bool, string) {
		res, err := p.channel.Once(ctx, http.MethodPost, "/faults", nil, map[string]any{"rules": rules})
		return err == nil && res.Status == http.StatusOK, fmt.Sprint(err, string(res.Body))
	})
}

// check queries the payment's list. The program may not be running.
func (p *pair) check(ctx context.Context, refundID string) {
	_, _ = p.people.maker.Once(ctx, http.MethodPost, "/v1/refunds/"+refundID+"/check", nil, nil)
}

// claim requests the refund whose money the line has moved.
func (p *pair) claim(ctx context.Context) {
	_, _ = p.people.maker.Once(ctx, http.MethodPost, "/v1/refunds", harness.Headers{"Idempotency-Key": "key-" + p.owner}, request(p.owner, p.payment,
		p.account, 300, 0))
}
