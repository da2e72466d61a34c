package verify

import (
	"testing"
	"time"
)

// TestWholeTablesAreReadOnceANight: at the time of the day that was asked for, also for a process that starts shortly before or after it.
func TestWholeTablesAreReadOnceANight(t *testing.T) {
	t.Parallel()
	c := WatchConfig{Tables: 24 * time.Hour, TablesAt: 2 * time.Hour}
	for now, want := range map[string]string{
		"2026-03-01T00:00:00Z": "2026-03-01T02:00:00Z", "2026-03-01T01:59:59Z": "2026-03-01T02:00:00Z", "2026-03-01T02:00:00Z": "2026-03-02T02:00:00Z",
		"2026-03-01T23:00:00Z": "2026-03-02T02:00:00Z", "2026-03-01T09:30:00+08:00": "2026-03-01T02:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.nextRound(at).Format(time.RFC3339); got != want {
			t.Errorf("at %s the next round is at %s, want %s", now, got, want)
		}
	}
}
