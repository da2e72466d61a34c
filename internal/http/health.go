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

// livez says that the process runs and answers. It asks nothing else, so that a
// database that is away does not get the process restarted.
func (s *service) livez(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, oapi.Health{Status: "ok", Checks: []oapi.HealthCheck{}})
}

// readyz runs the checks. While the process stops it says no at once, so that
// no new requests are sent here.
func (s *service) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	checks := []oapi.HealthCheck{}
	ready := true
	select {
	case <-s.stopping:
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

// kindOf names the type of an error, for a log line that must not hold its text.
func kindOf(err error) string { return fmt.Sprintf("%T", err) }
