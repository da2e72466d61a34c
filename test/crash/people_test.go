package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/refundry/refundry/test/e2e/harness"
)

// people decide the open cases: one proposes, another approves. They use the record of the channel only, and every
// statement of theirs is true there.
type people struct {
	maker, checker *harness.Client
	record         string // the file
}

func peopleOf(d *harness.Dev) people {
	return people{maker: d.Client(), checker: d.ClientWith(d.Info().ApproverKey), record: recordOf(d)}
}

func recordOf(d *harness.Dev) string { return filepath.Join(d.Dir, "simulator", "simulator.jsonl") }

// openCase is the part of a case that people use.
type openCase struct {
	Case struct {
		ID, State string
		RefundID  *string
		Version   int64
		ClosedHow *string
	}
	Choices []struct {
		Action        string
		Allowed       bool
		TakesEffectAt *string
	}
}

// proposal is a proposed decision.
type proposal struct {
	Action   string `json:"action"`
	Evidence string `json:"evidence"`
	Version  int64  `json:"version,omitempty"`
}

// moves reports whether the channel has moved the money of a refund, or will, by its record.
func (p people) moves(refundID string) (bool, error) {
	raw, err := os.ReadFile(p.record)
	if err != nil {
		return false, err
	}
	id, err := json.Marshal(refundID)
	if err != nil {
		return false, err
	}
	for line := range bytes.Lines(raw) {
		var one send
		if !bytes.Contains(line, id) || json.Unmarshal(line, &one) != nil { // the last line may be incomplete
			continue
		}
		if one.RefundID == refundID && one.Refund != nil && !one.Refund.Fails {
			return true, nil
		}
	}
	return false, nil
}

// allowed reports whether a decision is possible; settled, whether no earlier request can execute any more.
func (c openCase) allowed(action string) (ok, settled bool) {
	for _, choice := range c.Choices {
		if choice.Action == action {
			return choice.Allowed, choice.TakesEffectAt == nil
		}
	}
	return false, false
}

// final are the final states.
var final = []string{"SUCCESS", "FAILED", "CANCELED", "REVERSED"}

// truth returns the decision that the channel's record supports; "wait" when there is none. The case is read before the
// record, so a proposal with the version of that reading cannot have missed a send.
func (c openCase) truth(moves bool) string {
	if c.Case.RefundID == nil { // a payment's excess can only be acknowledged
		return "accept-as-is"
	}
	if slices.Contains(final, c.Case.State) {
		paid := c.Case.State == "SUCCESS" || c.Case.State == "REVERSED"
		if ok, settled := c.allowed("accept-as-is"); ok && settled && paid == moves {
			return "accept-as-is"
		}
		return "wait"
	}
	if moves {
		if ok, _ := c.allowed("confirm-success"); ok {
			return "confirm-success"
		}
		return "wait"
	}
	if ok, settled := c.allowed("confirm-not-done"); ok && settled {
		return "confirm-not-done"
	}
	return "wait"
}

// decide decides one of the open cases. It rejects every fifth proposal first, and every one that decides nothing.
func (l *load) decide(ctx context.Context, id string) {
	var page struct{ Items []struct{ ID string } }
	if !l.read(ctx, "/v1/cases?limit=100", &page) || len(page.Items) == 0 {
		return
	}
	var c openCase
	if !l.read(ctx, "/v1/cases/"+pick(page.Items).ID, &c) || c.Case.ClosedHow != nil {
		return
	}
	moves := false
	if c.Case.RefundID != nil {
		var err error
		if moves, err = l.people.moves(*c.Case.RefundID); err != nil {
			l.t.Error(err)
			return
		}
	}
	action := c.truth(moves)
	if action == "wait" && rand.IntN(8) > 0 { // #nosec G404 -- load
		return
	}
	verdicts := []string{"approve"}
	if action == "wait" {
		verdicts = []string{"reject"}
	} else if rand.IntN(5) == 0 { // #nosec G404 -- load
		verdicts = []string{"reject", "approve"}
	}
	for i, verdict := range verdicts {
		p := proposal{action, fmt.Sprintf("the channel's record, page %s-%d", id, i), c.Case.Version}
		var d struct{ ID string }
		if l.people.say(ctx, l.t, l.people.maker, "/v1/cases/"+c.Case.ID+"/decision", p, &d) {
			l.people.say(ctx, l.t, l.people.checker, "/v1/cases/"+c.Case.ID+"/approval", map[string]string{"verdict": verdict, "decisionId": d.ID}, nil)
		}
	}
}

// say posts until there is an answer. A change of the refund meanwhile is a 409, and false.
func (p people) say(ctx context.Context, t errorer, c *harness.Client, path string, body, into any) bool {
	res, ok := c.Send(ctx, http.MethodPost, path, nil, body)
	switch {
	case !ok || res.Status == http.StatusConflict:
		return false
	case res.Status != http.StatusOK && res.Status != http.StatusCreated:
		t.Errorf("POST %s: status %d, want it accepted or 409: %s", path, res.Status, res.Body)
		return false
	case into == nil:
		return true
	}
	if err := json.Unmarshal(res.Body, into); err != nil {
		t.Errorf("POST %s: %v: %s", path, err, res.Body)
		return false
	}
	return true
}

type errorer interface {
	Errorf(format string, args ...any)
}

// read gets a resource that must exist.
func (l *load) read(ctx context.Context, path string, into any) bool {
	res, ok := l.client.Send(ctx, http.MethodGet, path, nil, nil)
	if !ok {
		return false
	}
	if err := json.Unmarshal(res.Body, into); err != nil || res.Status != http.StatusOK {
		l.t.Errorf("GET %s: status %d: %v: %s", path, res.Status, err, res.Body)
		return false
	}
	return true
}

// tidy works the parked messages: it retries the undecodable ones, without success, and discards them.
func (l *load) tidy(ctx context.Context, _ string) {
	var page struct{ Items []struct{ ID string } }
	if !l.read(ctx, "/v1/parked?reason=undecodable&limit=20", &page) || len(page.Items) == 0 {
		return
	}
	path := "/v1/parked/" + pick(page.Items).ID
	for _, what := range []string{"/redrive", "/discard"} {
		res, ok := l.client.Send(ctx, http.MethodPost, path+what, nil, nil)
		if ok && res.Status != http.StatusOK {
			l.t.Errorf("POST %s%s: status %d, want 200: %s", path, what, res.Status, res.Body)
		}
	}
}
