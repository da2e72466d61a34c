package channeltest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

// lenientClient reads the documents of its channel with encoding/json, which takes the last of two members, and members in
// another letter case.
type lenientClient struct {
	change func([]byte) []byte
	codes  bool // the channel refuses
}

func (c *lenientClient) read(body string) refund.Answer {
	raw := []byte(body)
	if c.change != nil {
		raw = c.change(raw)
	}
	var doc struct {
		Number, Status, Code string
	}
	a := refund.Answer{Kind: refund.Unknown, Rule: "lenient", Evidence: []byte(`{}`)}
	if json.Unmarshal(raw, &doc) != nil {
		return a
	}
	switch {
	case doc.Status == "succeeded":
		a.Kind = refund.Succeeded
	case doc.Status == "failed":
		a.Kind = refund.FailedFinal
	case doc.Code == "refused":
		a.Kind = refund.RefusedClean
	case doc.Code == "not_found":
		a.Kind = refund.NotFound
	}
	return a
}

func (c *lenientClient) Refund(_ context.Context, call refund.Call) refund.Answer {
	if c.codes {
		return c.read(`{"code":"refused"}`)
	}
	return c.read(`{"number":"` + call.Number + `","status":"succeeded"}`)
}

func (c *lenientClient) Query(_ context.Context, call refund.Call) refund.Answer {
	if call.Number == "never-sent" {
		return c.read(`{"code":"not_found"}`)
	}
	return c.read(`{"number":"` + call.Number + `","status":"succeeded"}`)
}

func (c *lenientClient) List(context.Context, refund.Call) ([]refund.ListedEffect, bool, refund.Answer) {
	return nil, false, refund.Answer{Kind: refund.Unknown, Rule: "none", Evidence: []byte(`{}`)}
}

// A client that reads with encoding/json takes something from documents with two readings, and the suite finds it.
func TestTheSuiteFindsAClientThatReadsLeniently(t *testing.T) {
	t.Parallel()
	c := &lenientClient{}
	s := Subject{Client: c, Account: "shop", Contract: refund.Contract{Query: refund.QueryTerms{Exists: true}}, Reads: []string{"number", "status", "code"},
		Faults:  func(_ *testing.T, spec string) { c.codes = spec != "" },
		Rewrite: func(change func([]byte) []byte) { c.change = change }, used: new(int)}
	found := map[string][]string{}
	for _, d := range s.documents(t) {
		found[d.name] = s.misread(t, d)
	}
	for name, rows := range map[string][]string{
		"answer to a send":   {"status twice", "status twice, by an escape", "status in capitals, too", "status with another letter, too", "bad UTF-8", "a name twice, unread"},
		"refusal of a send":  {"a name twice, unread", "bad UTF-8"},
		"answer to a query":  {"status twice", "status in capitals, too"},
		"absence in a query": {"a name twice, unread", "bad UTF-8"},
	} {
		for _, row := range rows {
			if !slices.ContainsFunc(found[name], func(what string) bool { return strings.HasPrefix(what, row+": ") }) {
				t.Errorf("%s, %s: not found in %q", name, row, found[name])
			}
		}
	}
}
