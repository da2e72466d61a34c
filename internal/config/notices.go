package config

import "time"

// Notices says how long notices of channels wait. Zero = the default of the package that uses it.
type Notices struct {
	EndUnmatchedAfter time.Duration `yaml:"endUnmatchedAfter"` // how long a notice waits for a refund with its number or id
}

// leastUnmatchedTime leaves a notice the time to come before its refund is accepted.
const leastUnmatchedTime = time.Hour

func (n Notices) faults() Faults {
	var out Faults
	out.AddIf(n.EndUnmatchedAfter != 0 && n.EndUnmatchedAfter < leastUnmatchedTime, ".endUnmatchedAfter: must be at least %s", leastUnmatchedTime)
	return out
}
