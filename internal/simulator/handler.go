package simulator

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Handler serves the channel protocol and the control endpoints of api/simulator.yaml. Faults that cut connections need an
// HTTP/1.1 server.
func (s *Simulator) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, methods := range map[string]map[string]http.HandlerFunc{
		"/v1/refunds":                      {http.MethodPost: s.send},
		"/v1/refunds/{number}":             {http.MethodGet: s.query},
		"/v1/payments/{reference}/refunds": {http.MethodGet: s.list},
		"/effects":                         {http.MethodGet: s.effects},
		"/faults": {
			http.MethodGet: s.getFaults, http.MethodPost: s.postFaults, http.MethodDelete: s.deleteFaults,
		},
	} {
		mux.Handle(path, byMethod(methods))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		// The code not_found is about a refund and is not used here.
		writeRefusal(w, &refusal{http.StatusNotFound, "no_such_endpoint", "there is no such endpoint"})
	})
	return mux
}

func byMethod(methods map[string]http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handle, ok := methods[r.Method]
		if !ok {
			allowed := make([]string, 0, len(methods))
			for m := range methods {
				allowed = append(allowed, m)
			}
			slices.Sort(allowed)
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			writeRefusal(w, &refusal{http.StatusMethodNotAllowed, "method_not_allowed", "the endpoint does not have this method"})
			return
		}
		handle(w, r)
	})
}

// send answers POST /v1/refunds.
func (s *Simulator) send(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	var q sendRequest
	if err == nil {
		q, err = parseSend(body)
	}
	var p profile
	if err == nil {
		p, err = s.admit(r, q.Account)
	}
	if key := r.Header.Get("Idempotency-Key"); err == nil && p.keyed && key != q.Number {
		err = invalid("the Idempotency-Key header must be the number")
	}
	var staged stagedSend
	if err == nil {
		staged, err = s.stageSend(q, p)
	}
	if err != nil {
		writeRefusal(w, err)
		return
	}
	ends := sync.OnceFunc(func() { s.answered(staged) })
	defer ends()
	if err := s.record.commit(staged.seq); err != nil {
		writeRefusal(w, err)
		return
	}
	if staged.fresh {
		s.announce(staged.refund)
	}
	s.answer(w, r, staged.rule, ends, func() {
		if staged.refusal != nil {
			writeRefusal(w, staged.refusal)
			return
		}
		asOf := staged.asOf
		if asOf.IsZero() {
			asOf = s.now()
		}
		writeJSON(w, http.StatusOK, staged.refund.view(asOf, p))
	})
}

// query answers GET /v1/refunds/{number}.
func (s *Simulator) query(w http.ResponseWriter, r *http.Request) {
	number, name := r.PathValue("number"), r.URL.Query().Get("account")
	p, err := s.admit(r, name)
	if err == nil && !validID(number) {
		err = invalid("this is not a number")
	}
	if err == nil && !p.queryable {
		err = &refusal{http.StatusMethodNotAllowed, "query_not_supported", "refunds of this account cannot be queried"}
	}
	if err != nil {
		writeRefusal(w, err)
		return
	}
	found, rule := s.find(name, number)
	s.answer(w, r, rule, func() {}, func() {
		if found == nil {
			writeRefusal(w, &refusal{http.StatusNotFound, "not_found", "no refund has this number"})
			return
		}
		writeJSON(w, http.StatusOK, found)
	})
}

// list answers GET /v1/payments/{reference}/refunds.
func (s *Simulator) list(w http.ResponseWriter, r *http.Request) {
	reference, name := r.PathValue("reference"), r.URL.Query().Get("account")
	p, err := s.admit(r, name)
	if err == nil && !referencePattern.MatchString(reference) {
		err = invalid("this is not a payment reference")
	}
	after, bad := cursor(r.URL.Query()["after"])
	if err == nil && bad {
		err = invalid("after is not the `next` of a page")
	}
	if err == nil && !p.listable {
		err = &refusal{http.StatusMethodNotAllowed, "list_not_supported", "refunds of this account cannot be listed"}
	}
	if err != nil {
		writeRefusal(w, err)
		return
	}
	listed, rule := s.listed(name, reference, after)
	s.answer(w, r, rule, func() {}, func() { writeJSON(w, http.StatusOK, listed) })
}

// cursor reads the parameter after; 0 = the first page.
func cursor(values []string) (after int64, bad bool) {
	if len(values) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	return n, err != nil || n < 0 || len(values) > 1
}

// admit returns the profile of the account and checks its secret.
func (s *Simulator) admit(r *http.Request, name string) (profile, error) {
	acct, ok := s.account(name)
	if !ok {
		return profile{}, &refusal{http.StatusBadRequest, "account_unknown", "there is no such account"}
	}
	if acct.Secret == "" {
		return s.profile(name), nil
	}
	secret, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer || subtle.ConstantTimeCompare([]byte(secret), []byte(acct.Secret)) != 1 {
		return profile{}, &refusal{http.StatusUnauthorized, "unauthorized", "the account's secret is required"}
	}
	return s.profile(name), nil
}

// answer writes the answer, unless the rule breaks it. The effects of the request are recorded by now. ends is called
// before the caller can receive anything, and ends the flight of the request.
func (s *Simulator) answer(w http.ResponseWriter, r *http.Request, rule *Rule, ends, give func()) {
	if rule == nil {
		ends()
		give()
		return
	}
	s.cfg.Logger.Debug("fault", "fault", rule.Fault, "op", rule.Op, "path", r.URL.Path)
	switch rule.Fault {
	case LostAfter, LostBefore:
		ends()
		hangUp(w)
	case Slow:
		timer := time.NewTimer(rule.delay(s.cfg.SlowDelay))
		defer timer.Stop()
		select {
		case <-timer.C:
			ends()
			give()
		case <-r.Context().Done():
		case <-s.closed:
			hangUp(w)
		}
	default:
		ends()
		writeRefusal(w, rule.refusal())
	}
}

// hangUp closes the connection without writing a byte. On a reused connection, HTTP clients take this for a server that
// closed an idle connection, and repeat the request.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = conn.Close()
}

// refusal returns the error answer of an answer fault.
func (r *Rule) refusal() *refusal {
	var e *refusal
	switch r.Fault {
	case Refused:
		e = &refusal{http.StatusUnprocessableEntity, "not_refundable_window", "the refund window of this payment has ended"}
	case Echo:
		e = &refusal{http.StatusConflict, "already_refunded", "the payment has been refunded"}
	case RateLimited:
		e = &refusal{http.StatusTooManyRequests, "rate_limited", "too many requests"}
	case Spacing:
		e = &refusal{http.StatusTooManyRequests, "too_soon", "the last refund of this payment is too recent"}
	case CountLimit:
		e = &refusal{http.StatusUnprocessableEntity, "refund_count_exceeded", "the payment has the largest number of refunds"}
	case DuplicateWindow:
		e = &refusal{http.StatusConflict, "duplicate_refund", "an equal refund of this payment was made a moment ago"}
	case LowBalance:
		e = &refusal{http.StatusPaymentRequired, "insufficient_balance", "the account's balance does not cover the refund"}
	default:
		e = &refusal{http.StatusInternalServerError, "internal_error", "something broke"}
	}
	if r.Code != "" {
		e.Code = r.Code
	}
	return e
}
