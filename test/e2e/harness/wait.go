package harness

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pollEvery is the pause between two checks of a condition.
const pollEvery = 25 * time.Millisecond

// Eventually polls done until it returns true, and ends the test after within. done also returns what it saw.
func Eventually(t testing.TB, within time.Duration, what string, done func() (ok bool, saw string)) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		ok, saw := done()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s; last seen: %s", within, what, saw)
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("the test ended while waiting: %s", what)
		}
	}
}

// Metric returns one value of /metrics. name includes the labels as they are written there. false = there is no such value.
func (c *Client) Metric(ctx context.Context, name string) (float64, bool) {
	c.t.Helper()
	res, ok := c.Send(ctx, http.MethodGet, "/metrics", nil, nil)
	if !ok || res.Status != http.StatusOK {
		c.t.Fatalf("/metrics: status %d", res.Status)
	}
	lines := bufio.NewScanner(strings.NewReader(string(res.Body)))
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), name+" "); found {
			v, err := strconv.ParseFloat(value, 64)
			return v, err == nil
		}
	}
	return 0, false
}
