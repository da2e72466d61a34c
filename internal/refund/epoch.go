package refund

// MarkedIn says whether the refund was marked in this epoch: each of its numbers, and the one behind, may have been used in
// a future that a restore has cut off.
func (r *Record) MarkedIn(epoch int) bool {
	for _, d := range r.Dispatches {
		if d.MarkedEpoch == epoch {
			return true
		}
	}
	return false
}
