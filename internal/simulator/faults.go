package simulator

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"
)

// faultSet has the current rules and their hits. The simulator's lock guards it.
type faultSet struct {
	rules Rules
	hits  []int
}

func newFaultSet(rules Rules) *faultSet {
	return &faultSet{rules: rules, hits: make([]int, len(rules.List))}
}

// request is what the rules are matched with.
type request struct {
	op       Op
	account  string
	subject  string // the number; for a list the payment reference
	refundID string // "" when not known
	nth      int    // count of this op for the subject, this one included
	nthOfID  int    // count of this op for refundID, this one included
}

// pick returns the rule of one class that hits the request, or nil, and counts the hit. One draw decides among all rules of
// the class, so that their shares are shares of all matching requests. The draw depends only on the seed and on the
// identity and count of the request: the same run repeats itself, and a retry draws again.
func (f *faultSet) pick(class string, q request) *Rule {
	return f.pickIf(class, q, func(*Rule) bool { return true })
}

// pickIf is pick for rules that only hit requests that break them.
func (f *faultSet) pickIf(class string, q request, broken func(*Rule) bool) *Rule {
	draw, sum := -1.0, 0.0
	for i := range f.rules.List {
		rule := &f.rules.List[i]
		if kinds[rule.Fault].class != class || !f.matches(i, q) {
			continue
		}
		if draw < 0 {
			draw = uniform(f.rules.Seed, class, q)
		}
		if sum += rule.Share; draw < sum {
			if !broken(rule) {
				return nil
			}
			f.hits[i]++
			return rule
		}
	}
	return nil
}

func (f *faultSet) matches(i int, q request) bool {
	rule := &f.rules.List[i]
	if rule.Op != q.op || !f.rules.applies(rule, q.account) {
		return false
	}
	if rule.RefundID != "" && rule.RefundID != q.refundID || rule.Number != "" && rule.Number != q.subject {
		return false
	}
	nth := q.nth
	if rule.RefundID != "" {
		nth = q.nthOfID
	}
	return (rule.Nth == 0 || rule.Nth == nth) && (rule.Times == 0 || f.hits[i] < rule.Times)
}

// uniform maps a request to a number in [0, 1).
func uniform(seed int64, class string, q request) float64 {
	h := sha256.New()
	for _, part := range []string{
		strconv.FormatInt(seed, 10), class, q.account, q.subject, string(q.op), strconv.Itoa(q.nth),
	} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return float64(binary.BigEndian.Uint64(h.Sum(nil))>>11) / (1 << 53)
}

// delay returns the rule's own delay, or the configured one.
func (r *Rule) delay(otherwise time.Duration) time.Duration {
	if r.DelayMS > 0 {
		return time.Duration(r.DelayMS) * time.Millisecond
	}
	return otherwise
}

// limit returns the rule's own limit, or 2.
func (r *Rule) limit() int {
	if r.Limit > 0 {
		return r.Limit
	}
	return 2
}

// ruleView is one rule with its hits in GET /faults.
type ruleView struct {
	Rule
	Hits int `json:"hits"`
}

type faultsView struct {
	Seed  int64      `json:"seed"`
	Rules []ruleView `json:"rules"`
}

func (f *faultSet) view() faultsView {
	v := faultsView{Seed: f.rules.Seed, Rules: []ruleView{}}
	for i, rule := range f.rules.List {
		v.Rules = append(v.Rules, ruleView{rule, f.hits[i]})
	}
	return v
}
