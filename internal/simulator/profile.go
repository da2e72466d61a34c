package simulator

import "time"

// Profile says what the channel promises for an account.
type Profile string

// The profiles, see the package comment.
const (
	KeyedQueryable Profile = "keyed-queryable"
	ListAndMatch   Profile = "list-and-match"
	KeyReplayOnly  Profile = "key-replay-only"
	KeyAfter2xx    Profile = "key-after-2xx"
	NoticeOnly     Profile = "notice-only"
	Blind          Profile = "blind"
)

const day = 24 * time.Hour

// profile is what a Profile means for the protocol. A further profile is a
// further row.
type profile struct {
	name         Profile
	keyed        bool          // a number whose key is known is not done again; the Idempotency-Key header is required
	lifetime     time.Duration // of a key, from its first send; 0 = for ever
	keepsAnswer  bool          // the first answer is given again, errors included
	after2xx     bool          // a key is known only once a 2xx was given for it: twins in flight both act
	refusesTwins bool          // 409 in_flight while another send of the number is not answered
	queryable    bool          // GET /v1/refunds/{number}
	listable     bool          // GET /v1/payments/{reference}/refunds
	notices      bool          // results are told by notices, where a target and a secret are set
	acknowledges bool          // a send is only ever acknowledged, the result comes later
	holds        bool          // a low balance holds the refund instead of refusing it
	lateIsFailed bool          // money that came back is told as failed
}

var profiles = []profile{
	{name: KeyedQueryable, keyed: true, queryable: true, listable: true, notices: true},
	{name: ListAndMatch, keyed: true, lifetime: day, keepsAnswer: true, refusesTwins: true, listable: true, notices: true, holds: true, lateIsFailed: true},
	{name: KeyReplayOnly, keyed: true, lifetime: 45 * day, notices: true},
	{name: KeyAfter2xx, keyed: true, lifetime: day, after2xx: true, listable: true, notices: true},
	{name: NoticeOnly, keyed: true, lifetime: 31 * day, keepsAnswer: true, notices: true, acknowledges: true},
	{name: Blind},
}

// Profiles lists the profiles that exist.
func Profiles() []Profile {
	names := make([]Profile, len(profiles))
	for i, p := range profiles {
		names[i] = p.name
	}
	return names
}

func profileOf(name Profile) (profile, bool) {
	for _, p := range profiles {
		if p.name == name {
			return p, true
		}
	}
	return profile{}, false
}
