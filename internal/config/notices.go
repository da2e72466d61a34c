package config

import "time"

// Notices says how long notices of channels wait.
type Notices struct {
	// EndUnmatchedAfter is how long a notice waits for a refund with its number or id. Zero = 30 days.
	EndUnmatchedAfter time.Duration `yaml:"endUnmatchedAfter"`
}

const (
	endUnmatchedAfter  = 30 * 24 * time.Hour
	leastUnmatchedTime = time.Hour
)

// After returns how long an unmatched notice waits.
func (n Notices) After() time.Duration {
	if n.EndUnmatchedAfter == 0 {
		return endUnmatchedAfter
	}
	return n.EndUnmatchedAfter
}

func (n Notices) faults() Faults {
	var out Faults
	out.AddIf(n.EndUnmatchedAfter != 0 && n.EndUnmatchedAfter < leastUnmatchedTime, ".endUnmatchedAfter: must be at least %s", leastUnmatchedTime)
	return out
}
