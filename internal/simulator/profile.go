package simulator

import "time"

// Profile is what the channel promises for an account.
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

// profile has the rules of a Profile. A new profile is a new row.
type profile struct {
	name         Profile
	keyed        bool          // a number with a kept key does not act again; the Idempotency-Key header is required
	lifetime     time.Duration // of a key, from its first send; 0 = for ever
	keepsAnswer  bool          // the first answer is repeated, errors included
	after2xx     bool          // a key is kept only after a 2xx: concurrent sends both act
	refusesTwins bool          // 409 in_flight while another send of the number is not answered
	queryable    bool          // GET /v1/refunds/{number}
	listable     bool          // GET /v1/payments/{reference}/refunds
	notices      bool          // results are sent as notices, if a target and a secret are set
	acknowledges bool          // a send is only acknowledged, the result comes later
	holds        bool          // a low balance holds the refund instead of refusing it
	lateIsFailed bool          // money that came back is reported as failed
}

var profiles = []profile{
	{name: KeyedQueryable, keyed: true, queryable: true, listable: true, notices: true},
	{name: ListAndMatch, keyed: true, lifetime: day, keepsAnswer: true, refusesTwins: true, listable: true, notices: true, holds: true, lateIsFailed: true},
	{name: KeyReplayOnly, keyed: true, lifetime: 45 * day, notices: true},
	{name: KeyAfter2xx, keyed: true, lifetime: day, after2xx: true, listable: true, notices: true},
	{name: NoticeOnly, keyed: true, lifetime: 31 * day, keepsAnswer: true, notices: true, acknowledges: true},
	{name: Blind},
}

// Profiles returns all profiles.
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
