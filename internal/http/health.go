package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/refundry/refundry/internal/http/oapi"
)

// readyTime bounds all checks of /readyz together.
const readyTime = 3 * time.Second

// livez reports that the process answers. It checks nothing else: the process must
// not be restarted because the database is unavailable.
func (s *service) livez(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, oapi.Health{Status: "ok", Checks: []oapi.HealthCheck{}})
}

// readyz runs the checks. A process that is about to stop is not ready, so that load
// balancers send it no new requests.
func (s *service) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	checks := []oapi.HealthCheck{}
	ready := true
	select {
	case <-s.retiring:
		ready = false
		checks = append(checks, oapi.HealthCheck{Name: "not-stopping"})
	default:
	}
	for _, c := range s.ready {
		err := c.Check(ctx)
		if err != nil {
			ready = false
			s.problems.log.WarnContext(ctx, "not ready", "check", c.Name, "error", err.Error())
		}
		checks = append(checks, oapi.HealthCheck{Name: c.Name, Ok: err == nil})
	}
	if !ready {
		s.problems.write(w, r, &Problem{Code: codeUnavailable, Detail: "The process is not ready.", Checks: checks})
		return
	}
	writeJSON(w, http.StatusOK, oapi.Health{Status: "ok", Checks: checks})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body := encodeJSON(v)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// kindOf is the type of an error, for a log line that must not contain its text.
func kindOf(err error) string { return fmt.Sprintf("%T", err) }
