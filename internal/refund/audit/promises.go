package audit

// Promise is a guarantee of the service that its stored records can be checked against (docs/promises.md).
type Promise struct {
	ID    string // P1 … P12
	Title string
}

// Promises returns them in order. A check names its promise.
func Promises() []Promise {
	return []Promise{
		{"P1", "at most one effect per refund where the channel dedupes by key; elsewhere a repeat only on proven absence"},
		{"P2", "no automatic repeat after an ambiguous call where the channel offers neither key nor question"},
		{"P3", "balances are the sums of what is open, moved and held; excess is exact and acknowledged or under a case"},
		{"P4", "whatever is not done with has a timer that is kept, and what waits for a person has exactly one open case"},
		{"P5", "every intake that was answered is there: receipt, key and refund belong together"},
		{"P6", "one event id and one refund id mean one thing"},
		{"P7", "the state is the fold of a gap-free journal with a whole hash chain and matching anchors"},
		{"P8", "no evidence is lost, and nothing is closed or renumbered while it is exposed"},
		{"P9", "the ledger sums to zero: one posting per moved effect, one mirror per returned one"},
		{"P10", "every attempt was written before its call, and none may leave after its time or its key's"},
		{"P11", "no reader of the journal has run ahead of it"},
		{"P12", "nothing of one tenant hangs on another"},
	}
}
