package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Rule selects the requests that a fault hits. Empty fields match everything.
//
// Nth counts the requests for the refund of RefundID or, without RefundID, the requests with the same number (for lists:
// the same payment). Sends are counted from the first one ever recorded, other requests from the start of the simulator.
type Rule struct {
	Fault    Fault   `json:"fault"`
	Account  string  `json:"account,omitempty"`
	RefundID string  `json:"refundId,omitempty"`
	Number   string  `json:"number,omitempty"`
	Op       Op      `json:"op"`                // empty on input: the fault's own operation
	Nth      int     `json:"nth,omitempty"`     // only the nth request of this op
	Times    int     `json:"times,omitempty"`   // at most so many hits; 0 = no limit
	Share    float64 `json:"share"`             // 0..1 of the matching requests; absent on input: 1
	Code     string  `json:"code,omitempty"`    // answers with this code instead of the fault's own
	DelayMS  int64   `json:"delayMs,omitempty"` // for faults and rules with a time: instead of the default
	Limit    int     `json:"limit,omitempty"`   // for count-limit and notice-twice; default 2
}

// Rules is a set of rules with the seed that decides their shares.
type Rules struct {
	Seed int64
	List []Rule
}

const (
	defaultSeed = 1
	maxRules    = 1000
	maxDelayMS  = 7 * 24 * 3600 * 1000
	maxCount    = 1 << 30
	maxLimit    = 10_000
)

// ParseSpec parses the short form "name=share,name@account=share,…,seed=N", for example
// "lost-after=0.2,hidden@demo=0.5,seed=7". The empty string has no rule. A rule for an account replaces the general rule of
// the same name for this account. Errors: unknown names, shares outside 0..1, a name given twice, and shares of answer
// faults with a sum above 1 for an account.
func ParseSpec(spec string) (Rules, error) {
	rules := Rules{Seed: defaultSeed}
	seeded := false
	if strings.TrimSpace(spec) == "" {
		return rules, nil
	}
	for part := range strings.SplitSeq(spec, ",") {
		part = strings.TrimSpace(part)
		// An account can contain '=', a share cannot: the last one separates them.
		eq := strings.LastIndexByte(part, '=')
		if eq < 0 {
			return Rules{}, fmt.Errorf("fault spec: %q is not name=share", part)
		}
		name, value := part[:eq], part[eq+1:]
		if name == "seed" {
			seed, err := strconv.ParseInt(value, 10, 64)
			if err != nil || seeded {
				return Rules{}, fmt.Errorf("fault spec: %q: want one integer as seed", part)
			}
			rules.Seed, seeded = seed, true
			continue
		}
		rule, err := parseShare(name, value)
		if err != nil {
			return Rules{}, err
		}
		if slices.ContainsFunc(rules.List, rule.sameTarget) {
			return Rules{}, fmt.Errorf("fault spec: %q is given twice", name)
		}
		rules.List = append(rules.List, rule)
	}
	return rules, rules.checkShares()
}

func parseShare(name, value string) (Rule, error) {
	fault, account, limited := strings.Cut(name, "@")
	share, err := strconv.ParseFloat(value, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return Rule{}, fmt.Errorf("fault spec: %s=%s: want a share from 0 to 1", name, value)
	}
	if limited && !validID(account) {
		return Rule{}, fmt.Errorf("fault spec: %q does not name an account after @", name)
	}
	rule := Rule{Fault: Fault(fault), Account: account, Share: share}
	return rule, rule.complete()
}

// complete sets the operation and checks every field.
func (r *Rule) complete() error {
	kind, known := kinds[r.Fault]
	if !known {
		return fmt.Errorf("fault %q is not known", r.Fault)
	}
	if r.Op == "" {
		r.Op = kind.ops[0]
	}
	switch {
	case !slices.Contains(kind.ops, r.Op):
		return fmt.Errorf("fault %s does not apply to op %q", r.Fault, r.Op)
	case !(r.Share >= 0 && r.Share <= 1):
		return fmt.Errorf("fault %s: want a share from 0 to 1", r.Fault)
	case r.Nth < 0 || r.Nth > maxCount || r.Times < 0 || r.Times > maxCount:
		return fmt.Errorf("fault %s: nth and times count from 1", r.Fault)
	case r.Limit < 0 || r.Limit > maxLimit:
		return fmt.Errorf("fault %s: a limit is at most %d", r.Fault, maxLimit)
	case r.DelayMS < 0 || r.DelayMS > maxDelayMS:
		return fmt.Errorf("fault %s: delayMs is at most a week", r.Fault)
	case r.Code != "" && !validCode(r.Code):
		return fmt.Errorf("fault %s: a code is 1 to 64 of a-z, 0-9 and _", r.Fault)
	}
	for _, id := range []string{r.Account, r.RefundID, r.Number} {
		if id != "" && !validID(id) {
			return fmt.Errorf("fault %s: %q is not an id", r.Fault, id)
		}
	}
	return nil
}

// plain reports whether the rule is a share only, as in the short form.
func (r *Rule) plain() bool {
	return r.RefundID == "" && r.Number == "" && r.Nth == 0 && r.Times == 0
}

func (r *Rule) sameTarget(o Rule) bool {
	return r.Fault == o.Fault && r.Account == o.Account && r.Op == o.Op && r.plain() && o.plain()
}

// checkShares returns an error when the shares of faults that exclude each other have a sum above 1.
func (rs *Rules) checkShares() error {
	accounts := []string{""}
	for _, r := range rs.List {
		accounts = append(accounts, r.Account)
	}
	for _, account := range accounts {
		sums := map[string]float64{}
		for i := range rs.List {
			if r := &rs.List[i]; rs.applies(r, account) {
				sums[kinds[r.Fault].class+" "+string(r.Op)] += r.Share
			}
		}
		for _, sum := range sums {
			if sum > 1+1e-9 {
				return fmt.Errorf("fault spec: shares of faults that exclude each other add up to %.3g (account %q)", sum, account)
			}
		}
	}
	return nil
}

// applies reports whether a rule applies to an account: the rules of the account, and the general ones that none of them
// replaces.
func (rs *Rules) applies(r *Rule, account string) bool {
	if r.Account != "" || account == "" || !r.plain() {
		return r.Account == "" || r.Account == account
	}
	own := *r
	own.Account = account
	return !slices.ContainsFunc(rs.List, own.sameTarget)
}
