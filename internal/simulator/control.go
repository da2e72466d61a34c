package simulator

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// effects answers GET /effects, the record of the money that moved.
func (s *Simulator) effects(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, s.moved(r.URL.Query().Get("number")))
}

func (s *Simulator) getFaults(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.faultsView())
}

func (s *Simulator) faultsView() faultsView {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.view()
}

func (s *Simulator) postFaults(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	var rules Rules
	if err == nil {
		rules, err = parseFaults(body)
	}
	if err != nil {
		writeRefusal(w, err)
		return
	}
	s.setRules(rules)
	s.getFaults(w, r)
}

func (s *Simulator) deleteFaults(w http.ResponseWriter, _ *http.Request) {
	s.setRules(Rules{Seed: defaultSeed})
	w.WriteHeader(http.StatusNoContent)
}

// parseFaults decodes {"spec":SPEC} or {"rules":[…],"seed":N}.
func parseFaults(body []byte) (Rules, error) {
	o, err := parseObject(body)
	if err != nil {
		return Rules{}, err
	}
	if _, short := o.fields["spec"]; short {
		rules, err := ParseSpec(o.text("spec", nil, true))
		if err != nil {
			o.fail("%s", err)
		}
		return rules, o.end()
	}
	rules := Rules{Seed: defaultSeed}
	if _, ok := o.fields["seed"]; ok {
		rules.Seed = o.whole("seed", wholePattern, 1<<63-1, true)
	}
	list, _ := o.take("rules", true)
	if err := o.end(); err != nil {
		return Rules{}, err
	}
	rules.List, err = parseRules(list)
	return rules, err
}

func parseRules(list json.RawMessage) ([]Rule, error) {
	var raw []json.RawMessage
	if json.Unmarshal(list, &raw) != nil || raw == nil || len(raw) > maxRules {
		return nil, invalid("rules must be a list of at most %d", maxRules)
	}
	rules := make([]Rule, 0, len(raw))
	for i, one := range raw {
		rule, err := parseRule(one)
		if err != nil {
			return nil, invalid("rule %d: %s", i, complaint(err))
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func complaint(err error) string {
	var e *refusal
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

func parseRule(raw []byte) (Rule, error) {
	o, err := parseObject(raw)
	if err != nil {
		return Rule{}, err
	}
	rule := Rule{
		Fault:    Fault(o.text("fault", nil, true)),
		Account:  o.text("account", idPattern, false),
		RefundID: o.text("refundId", idPattern, false),
		Number:   o.text("number", idPattern, false),
		Op:       Op(o.text("op", nil, false)),
		Nth:      int(o.whole("nth", amountPattern, maxCount, false)),
		Times:    int(o.whole("times", amountPattern, maxCount, false)),
		Code:     o.text("code", codePattern, false),
		DelayMS:  o.whole("delayMs", wholePattern, maxDelayMS, false),
		Limit:    int(o.whole("limit", amountPattern, maxLimit, false)),
		Share:    1,
	}
	if share, ok := o.take("share", false); ok {
		rule.Share, err = strconv.ParseFloat(string(share), 64)
		if err != nil {
			o.fail("field share must be a number")
		}
	}
	if err := o.end(); err != nil {
		return Rule{}, err
	}
	return rule, rule.complete()
}
