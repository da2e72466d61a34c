package refund

import "time"

// Dispatch is one identity at the channel below a refund. Number, account and ordinal never change.
type Dispatch struct {
	Ordinal           int
	Number            string
	KeyExpiresAt      time.Time // zero = the key has no end, or nothing was sent yet
	AbsenceCountsFrom time.Time // max(not_after) of the sends + horizon + visibility lag; zero = nothing sent
	Exposed           bool
	Overridden        bool // a person's approved decision says: not done
	FinalNegativeAt   time.Time
	MayActUntil       time.Time // set by an epoch marking
	MarkedEpoch       int
	Acknowledged      bool // Accepted seen, or the channel's id known
	ChannelRefundID   string
	Retired           bool // a death with proof exists: the way to the next number is open
}

// AttemptKind is what an attempt asks of the channel.
type AttemptKind string

// Kinds of attempts.
const (
	AttemptSend  AttemptKind = "SEND"
	AttemptQuery AttemptKind = "QUERY"
	AttemptList  AttemptKind = "LIST"
)

// Attempt is one call to the channel. Its row exists before the call; Answer is written once.
type Attempt struct {
	No, DispatchNo      int
	Kind                AttemptKind
	Epoch, Generation   int
	ContractVersion     int
	StartedAt, NotAfter time.Time // database time
	AnsweredAt          time.Time
	Answer              FactKind // "" = not answered
	RetryAfter          time.Duration
	Code                string // the channel's code
}

// Dispatch finds a dispatch by ordinal.
func (r *Record) Dispatch(no int) (*Dispatch, bool) {
	for i := range r.Dispatches {
		if r.Dispatches[i].Ordinal == no {
			return &r.Dispatches[i], true
		}
	}
	return nil, false
}

// Attempt finds an attempt by ordinal.
func (r *Record) Attempt(no int) (*Attempt, bool) {
	for i := range r.Attempts {
		if r.Attempts[i].No == no {
			return &r.Attempts[i], true
		}
	}
	return nil, false
}

// lastSend is the newest send of a dispatch.
func (r *Record) lastSend(no int) (Attempt, bool) {
	for i := len(r.Attempts) - 1; i >= 0; i-- {
		if a := r.Attempts[i]; a.DispatchNo == no && a.Kind == AttemptSend {
			return a, true
		}
	}
	return Attempt{}, false
}

// firstTry is when a number's first send started; zero = never.
func (r *Record) firstTry(no int) time.Time {
	for _, a := range r.Attempts {
		if a.DispatchNo == no && a.Kind == AttemptSend {
			return a.StartedAt
		}
	}
	return time.Time{}
}

// keyExpired says whether the number may not be sent any more.
func (d Dispatch) keyExpired(c Contract, now time.Time) bool {
	return !d.KeyExpiresAt.IsZero() && !now.Before(d.KeyExpiresAt.Add(-c.Horizon.D()-ClockMargin))
}

// numberSpent says whether the live way of a number is over: its key dies, or the channel would only repeat an answer
// that tells nothing. Whoever asks must know that nothing is exposed before the next number is used.
func (r *Record) numberSpent(d Dispatch, c Contract, now time.Time) bool {
	if c.Key.KeepsAnswer {
		if a, ok := r.lastSend(d.Ordinal); ok && (a.Answer == "" || a.Answer == Unknown || a.Answer == RefusedEcho) {
			return true
		}
	}
	return r.tightened(d, c).keyExpired(c, now)
}

// tightened is the dispatch with the end of its key as a later contract may have moved it: only ever earlier than what
// the first send has frozen.
func (r *Record) tightened(d Dispatch, c Contract) Dispatch {
	first := r.firstTry(d.Ordinal)
	if c.Key.Lifetime <= 0 || first.IsZero() {
		return d
	}
	if end := first.Add(c.Key.Lifetime.D()); d.KeyExpiresAt.IsZero() || end.Before(d.KeyExpiresAt) {
		d.KeyExpiresAt = end
	}
	return d
}

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
