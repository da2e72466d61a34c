package crash

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/refundry/refundry/test/e2e/harness"
)

// send is one line of the simulator's record: a send that reached the channel.
type send struct {
	Account, Number, RefundID, Fault string
	Refund                           *struct { // set if it made a refund
		Fails bool // its money never moves
	}
}

// verdict has the figures of the three sources.
type verdict struct {
	refunds, success, failed, canceled, reversed, cases int64
	sends, effects, takeovers                           int64
}

// judge compares the answers to the callers, the database and the record of the channel.
func (s *site) judge() verdict {
	s.t.Helper()
	s.promises()
	ended := s.ended() // before the movements: a refund with a case of waiting goes on meanwhile
	moved := s.moved()
	sends := s.sends()
	s.compare(ended, moved)
	db, ctx := s.dev.DB(), s.t.Context()
	n := func(where string) int64 { return db.Int(ctx, `SELECT count(*) FROM refunds WHERE `+where) }
	return verdict{refunds: n("true"), success: n("state = 'SUCCESS'"), failed: n("state = 'FAILED'"), canceled: n("state = 'CANCELED'"),
		reversed: n("state = 'REVERSED'"), cases: n("case_id IS NOT NULL"), sends: sends, effects: int64(len(moved)), takeovers: db.Int(ctx, `SELECT count(*) FROM journal WHERE kind = 'lease_end'`)}
}

// promises runs `refundry verify`, which does not use the channel.
func (s *site) promises() {
	s.t.Helper()
	res := harness.Verb(s.t, nil, "verify", "--json", "--database-url", s.dev.Info().DatabaseURL, "--anchor-file", s.anchors)
	var out struct {
		Violations int64
		Promises   []struct {
			Promise, Title string
			Violations     int64
		}
	}
	if err := json.Unmarshal([]byte(res.Stdout), &out); err != nil || len(out.Promises) == 0 {
		s.t.Fatalf("verify: exit %d: %v: %s%s", res.Exit, err, res.Stdout, res.Stderr)
	}
	if res.Exit != 0 {
		s.t.Errorf("verify: exit %d, want 0: %s", res.Exit, res.Stdout)
	}
	s.dev.DB().CheckPromises(s.t.Context())
}

// moved returns the refunds whose money moved at the channel, by refund id. No money may have moved twice, whatever the
// contract.
func (s *site) moved() map[string]harness.Effect {
	s.t.Helper()
	out := map[string]harness.Effect{}
	for _, e := range s.dev.Sim().Effects(s.t.Context()) {
		if isStrange(e.RefundID) {
			continue
		}
		if first, twice := out[e.RefundID]; twice {
			s.t.Errorf("P1: %s on %s moved twice: %+v and %+v", e.RefundID, e.Account, first, e)
		}
		out[e.RefundID] = e
	}
	return out
}

// definite answers of the simulator prove that a send did nothing. After any other answer a blind channel must not get
// another send.
var definite = []string{"rate-limited", "low-balance"}

// sends reads the record of the channel and checks that every send has an attempt, and that a channel with neither keys nor
// queries gets no repeat.
func (s *site) sends() int64 {
	s.t.Helper()
	raw, err := os.ReadFile(recordOf(s.dev))
	if err != nil {
		s.t.Fatal(err)
	}
	by := map[string][]send{}
	total := int64(0)
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for lines.Scan() {
		var one send
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			s.t.Fatalf("the simulator's record: %v: %s", err, lines.Bytes())
		}
		if one.Number != "" && !isStrange(one.RefundID) {
			total++
			by[one.Number] = append(by[one.Number], one)
		}
	}
	attempts := s.dev.DB().Text(s.t.Context(), `SELECT json_object_agg(number, n) FROM (SELECT d.number, count(*) n FROM attempts a
		JOIN dispatches d ON d.tenant_id = a.tenant_id AND d.rid = a.rid AND d.no = a.dispatch_no WHERE a.kind = 'SEND' GROUP BY 1) x`)
	written := map[string]int{}
	if err := json.Unmarshal([]byte(attempts), &written); err != nil {
		s.t.Fatal(err)
	}
	for number, sent := range by {
		if len(sent) > written[number]+s.byOthers[number] {
			s.t.Errorf("P10: %d sends of %s (%s) reached the channel, %d attempts were written", len(sent), number, sent[0].RefundID, written[number])
		}
		for i, one := range sent[:len(sent)-1] {
			if strings.HasSuffix(one.Account, "-blind") && !slices.Contains(definite, one.Fault) {
				s.t.Errorf("P2: %s was sent to a blind channel again after send %d (fault %q)", one.RefundID, i+1, one.Fault)
			}
		}
	}
	return total
}

// ended returns the states of the refunds that have ended and have no case.
func (s *site) ended() map[string]string {
	s.t.Helper()
	var states map[string]string
	text := s.dev.DB().Text(s.t.Context(), `SELECT json_object_agg(refund_id, state) FROM refunds WHERE case_id IS NULL AND final_at IS NOT NULL`)
	if err := json.Unmarshal([]byte(text), &states); err != nil {
		s.t.Fatal(err)
	}
	return states
}

// compare checks that a refund in a final state is final at the channel too. A refund with a case is left out, and
// one whose number another party has used, too. Money that
// came back before its movement was noticed may be reported as FAILED: where "failed" can follow a success, the channel
// does not say more.
func (s *site) compare(ended map[string]string, moved map[string]harness.Effect) {
	s.t.Helper()
	for id, state := range ended {
		if isStrange(id) {
			continue
		}
		e, paid := moved[id]
		final := state == "SUCCESS" || state == "REVERSED"
		if final != paid && !(state == "FAILED" && e.Status == "returned") {
			s.t.Errorf("%s is %s, but the channel has moved its money: %t %+v", id, state, paid, e)
		}
	}
}

func (v verdict) String() string {
	return fmt.Sprintf("%d refunds: %d SUCCESS, %d FAILED, %d CANCELED, %d REVERSED, %d with a case; %d sends, %d effects, %d takeovers",
		v.refunds, v.success, v.failed, v.canceled, v.reversed, v.cases, v.sends, v.effects, v.takeovers)
}

func (v verdict) plus(o verdict) verdict {
	return verdict{v.refunds + o.refunds, v.success + o.success, v.failed + o.failed, v.canceled + o.canceled, v.reversed + o.reversed, v.cases + o.cases,
		v.sends + o.sends, v.effects + o.effects, v.takeovers + o.takeovers}
}
