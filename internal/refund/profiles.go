package refund

import "time"

// Names of the contract profiles that ship with the plain channel protocol.
const (
	ProfileKeyedQueryable = "keyed-queryable"
	ProfileBlind          = "blind"
)

// Profiles lists the names that Profile knows.
func Profiles() []string { return []string{ProfileKeyedQueryable, ProfileBlind} }

// Profile is a ready-made contract for an account whose channel speaks the plain protocol (api/simulator.yaml). Version
// is left at 0: whoever stores contracts numbers them. false = no profile of this name.
func Profile(name string) (Contract, bool) {
	switch name {
	case ProfileKeyedQueryable:
		return keyedQueryable(), true
	case ProfileBlind:
		return blind(), true
	}
	return Contract{}, false
}

// keyedQueryable: one number is one refund for ever, and the channel can be asked for it. A refund may be hidden from
// queries until it has settled (2 s in the simulator) and for 2 s more, hence the lag of 4 s.
func keyedQueryable() Contract {
	c := plain(ProfileKeyedQueryable)
	c.Key.Dedupes = true
	c.Query = QueryTerms{Exists: true, VisibilityLag: Duration(4 * time.Second), Readings: 2, ReadingGap: Duration(500 * time.Millisecond)}
	return c
}

// blind: every send is a new refund and nothing can be asked. What is ambiguous goes to a person.
func blind() Contract { return plain(ProfileBlind) }

// plain is what every account of the plain protocol has in common. Codes that api/simulator.yaml documents as "nothing
// happened" are listed by what may follow; a code in no list is unknown.
func plain(name string) Contract {
	return Contract{
		Profile: name,
		Key:     KeyTerms{NumberLength: 64},
		Horizon: Duration(time.Second),
		Codes: CodeTerms{
			Refused:    []string{"not_refundable_window", "invalid_request"},
			Echo:       []string{"already_refunded", "amount_too_large", "number_reused"},
			Retryable:  []string{"rate_limited", "insufficient_balance", "unauthorized", "account_unknown"},
			LowBalance: []string{"insufficient_balance"},
		},
		Waits: WaitTerms{Pending: Duration(24 * time.Hour), Unknown: Duration(time.Hour), Accepted: Duration(7 * 24 * time.Hour)},
	}
}
