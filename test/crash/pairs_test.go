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

// pair is a payment on which a line is taken for a refund that it is not, until the channel itself says whose it is.
//
// mistaken moved its money, but our call was cut off and the list does not show it for a moment. The list does show a refund of the
// same amount that somebody else has made: under the number that owner will have, which nobody has asked us for yet. So a person
// confirms mistaken, and the line gives its id to an effect that has none. When owner is asked for, the channel answers with
// that id: the line was owner's.
type pair struct {
	s                         *site
	account, payment          string
	mistaken, owner, neighbor string
	channel                   *harness.Client
	people                    people
}

// tries bounds how often the list may be too late: a machine was slow.
const tries = 4

// pairs kills the program where a line is paired, and where it is taken away again, on payments of their own.
func (s *site) pairs(y *tally, round int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*time.Minute)
	defer cancel()
	var p *pair
	for try := range tries {
		id := fmt.Sprintf("pair%d-%d", round, try)
		p = &pair{s: s, account: "demo-key-after-2xx", payment: "p-" + id, mistaken: id + "-m", owner: id + "-o", neighbor: id + "-n", channel: s.channel(), people: peopleOf(s.dev)}
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

// provoke does something again and again until done is called: the answer may be lost with the program.
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

// fallen waits for the death of the program at a place.
func (s *site) fallen(y *tally, at fault.Name) {
	s.t.Helper()
	s.kills++
	if s.died(place{at.String(), 1, time.Minute}) {
		y.hit(at.String())
	}
}

// confirm brings mistaken into the hands of people, who confirm it. false = the list was too late.
func (p *pair) confirm(ctx context.Context) bool {
	p.s.t.Helper()
	cut := harness.Rule{Fault: "lost-after", RefundID: p.mistaken}
	late := harness.Rule{Fault: "hidden", RefundID: p.mistaken, DelayMS: 3500}
	p.rules(ctx, cut, late)
	installation := p.s.dev.DB().Text(ctx, `SELECT installation_id FROM installation`)
	number := refund.DispatchNumber(installation, "demo", p.owner, 1)
	p.s.byOthers[number]++
	if (strangeSend{number, p.owner, p.account, reference(p.payment), 300, "USD"}).make(ctx, p.channel) == "" {
		p.s.t.Fatal("the channel does not do what others ask it for")
	}
	p.people.maker.Accept(ctx, request(p.neighbor, p.payment, p.account, 200, 5000))
	p.people.maker.UntilState(ctx, p.neighbor, "SUCCESS", 30*time.Second)
	p.people.maker.Accept(ctx, request(p.mistaken, p.payment, p.account, 300, 0))
	p.people.maker.UntilState(ctx, p.mistaken, "UNKNOWN", 30*time.Second)
	p.check(ctx, p.neighbor)
	p.rules(ctx, cut, late, harness.Rule{Fault: "lost-before", Op: "list", Account: p.account}) // from here on nobody sees the list
	r := p.people.maker.Refund(ctx, p.mistaken)
	if r.State != "UNKNOWN" || r.Case == nil {
		return false
	}
	if moves, err := p.people.moves(p.mistaken); err != nil || !moves {
		p.s.t.Fatalf("%s has moved, but the channel's record says %t, %v", p.mistaken, moves, err)
	}
	var d struct{ ID string }
	path := "/v1/cases/" + r.Case.ID
	return p.people.say(ctx, p.s.t, p.people.maker, path+"/decision", proposal{Action: "confirm-success", Evidence: "the channel's record, page " + p.payment}, &d) &&
		p.people.say(ctx, p.s.t, p.people.checker, path+"/approval", map[string]string{"verdict": "approve", "decisionId": d.ID}, nil)
}

// rules sets what the channel does, as soon as it is there: before the service is, so it never tells of the two by a notice.
func (p *pair) rules(ctx context.Context, rules ...harness.Rule) {
	p.s.t.Helper()
	for _, quiet := range []string{p.mistaken, p.owner} {
		rules = append(rules, harness.Rule{Fault: "notice-lost", RefundID: quiet})
	}
	harness.Eventually(p.s.t, time.Minute, "the channel takes rules", func() (bool, string) {
		res, err := p.channel.Once(ctx, http.MethodPost, "/faults", nil, map[string]any{"rules": rules})
		return err == nil && res.Status == http.StatusOK, fmt.Sprint(err, string(res.Body))
	})
}

// check has the payment listed. Nobody may be there to do it.
func (p *pair) check(ctx context.Context, refundID string) {
	_, _ = p.people.maker.Once(ctx, http.MethodPost, "/v1/refunds/"+refundID+"/check", nil, nil)
}

// claim asks for the refund whose money the line has moved.
func (p *pair) claim(ctx context.Context) {
	_, _ = p.people.maker.Once(ctx, http.MethodPost, "/v1/refunds", harness.Headers{"Idempotency-Key": "key-" + p.owner}, request(p.owner, p.payment, p.account, 300, 0))
}
