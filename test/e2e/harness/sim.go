package harness

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// Sim is the simulated channel, whose record shows what really happened.
type Sim struct{ c *Client }

// NewSim returns a client of a simulator.
func NewSim(t testing.TB, base func() string) *Sim { return &Sim{NewClient(t, base, "none")} }

// Effect is one movement of money at the channel.
type Effect struct {
	Number, RefundID, Account, PaymentReference, Currency, Status string
	Amount                                                        int64
	Requests                                                      int // sends that arrived under this number
}

// Rule is an exact fault; see internal/simulator.
type Rule struct {
	Fault    string `json:"fault"`
	Account  string `json:"account,omitempty"`
	RefundID string `json:"refundId,omitempty"`
	Op       string `json:"op,omitempty"`
	Nth      int    `json:"nth,omitempty"`
	Times    int    `json:"times,omitempty"`
	Code     string `json:"code,omitempty"`
	DelayMS  int64  `json:"delayMs,omitempty"`
}

// Effects returns all movements of money.
func (s *Sim) Effects(ctx context.Context) []Effect {
	s.c.t.Helper()
	return get[[]Effect](ctx, s.c, "/effects")
}

// EffectsOf returns the movements of money for one refund id.
func (s *Sim) EffectsOf(ctx context.Context, refundID string) []Effect {
	s.c.t.Helper()
	var out []Effect
	for _, e := range s.Effects(ctx) {
		if e.RefundID == refundID {
			out = append(out, e)
		}
	}
	return out
}

// UntilMoved waits until money has moved for a refund id.
func (s *Sim) UntilMoved(ctx context.Context, refundID string, within time.Duration) {
	s.c.t.Helper()
	Eventually(s.c.t, within, "the channel acts for "+refundID, func() (bool, string) {
		return len(s.EffectsOf(ctx, refundID)) > 0, "no effect yet"
	})
}

// SetRules replaces all faults. A restart of the simulator removes them.
func (s *Sim) SetRules(ctx context.Context, rules ...Rule) {
	s.c.t.Helper()
	s.set(ctx, http.MethodPost, map[string]any{"rules": append([]Rule{}, rules...)}, http.StatusOK)
}

// Clear removes all faults.
func (s *Sim) Clear(ctx context.Context) {
	s.c.t.Helper()
	s.set(ctx, http.MethodDelete, nil, http.StatusNoContent)
}

func (s *Sim) set(ctx context.Context, method string, body any, want int) {
	s.c.t.Helper()
	res, err := s.c.Once(ctx, method, "/faults", nil, body)
	if err != nil || res.Status != want {
		s.c.t.Fatalf("%s /faults: %v status %d: %s", method, err, res.Status, res.Body)
	}
}
