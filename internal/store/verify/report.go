package verify

import (
	"time"

	"github.com/refundry/refundry/internal/refund/audit"
)

// Progress reports how far a run is.
type Progress struct {
	Phase string // check by check, then "journal"
	Done  int64  // journal rows so far
	Total int64  // about so many; 0 = not known
}

// Violation is one broken promise at one place.
type Violation struct {
	Tenant   string `json:"tenant,omitempty"`   // code, or its id where no such tenant exists
	RefundID string `json:"refundId,omitempty"` // refund, or rid: where no such refund exists
	Subject  string `json:"subject,omitempty"`  // payment, event, effect … where it is not about one refund
	Check    string `json:"check"`
	What     string `json:"what"`
}

// PromiseReport is the outcome for one promise.
type PromiseReport struct {
	ID         string      `json:"id"`
	Title      string      `json:"title"`
	Violations int64       `json:"violations"`
	Samples    []Violation `json:"samples"`
}

// Report is the outcome of a run.
type Report struct {
	Promises []PromiseReport `json:"promises"`
	Refunds  int64           `json:"refunds"`
	Rows     int64           `json:"rows"` // of the journal
	Anchors  int64           `json:"anchors"`
	Seconds  float64         `json:"seconds"`
	Streamed float64         `json:"journalSeconds"` // of them, for the hash chain and the fold
	OK       bool            `json:"ok"`
}

// tally collects violations by promise.
type tally struct {
	samples          int
	by               map[string]*PromiseReport
	refunds, rows, n int64
	streamed         time.Duration
}

func newVerifyTally(samples int) *tally {
	t := &tally{samples: samples, by: map[string]*PromiseReport{}}
	for _, p := range audit.Promises() {
		t.by[p.ID] = &PromiseReport{ID: p.ID, Title: p.Title, Samples: []Violation{}}
	}
	return t
}

func (t *tally) count(promise string, n int64) { t.by[promise].Violations += n }

func (t *tally) sample(promise string, s Violation) {
	if p := t.by[promise]; len(p.Samples) < t.samples {
		p.Samples = append(p.Samples, s)
	}
}

// add counts one violation and keeps it as a sample while there is room.
func (t *tally) add(promise string, s Violation) {
	t.count(promise, 1)
	t.sample(promise, s)
}

func (t *tally) report(took time.Duration) Report {
	out := Report{Refunds: t.refunds, Rows: t.rows, Anchors: t.n, Seconds: took.Seconds(), Streamed: t.streamed.Seconds(), OK: true}
	for _, p := range audit.Promises() {
		r := *t.by[p.ID]
		out.OK = out.OK && r.Violations == 0
		out.Promises = append(out.Promises, r)
	}
	return out
}
