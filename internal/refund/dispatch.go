package refund

import "time"

// Dispatch is one identity of a refund at its channel. Number, account and ordinal never change. Its methods are in this
// file.
type Dispatch struct {
	Ordinal           int
	Number            string
	KeyExpiresAt      time.Time // zero = the key has no end, or nothing was sent yet
	AbsenceCountsFrom time.Time // max(not_after) of the sends + horizon + visibility lag; zero = nothing sent
	Exposed           bool
	Overridden        bool // confirm-not-done, resend, accept-as-is or revoke-confirmation says: not done
	FinalNegativeAt   time.Time
	LostSendUntil     time.Time // the last moment of a send whose attempt a restore may have removed (column may_act_until); zero = not marked
	MarkedEpoch       int       // the last epoch that marked it; 0 = none
	Acknowledged      bool      // ACKNOWLEDGED was answered, or the channel's id is known
	ChannelRefundID   string
	Retired           bool // the number has ended with proof: the next one may follow
}

// AttemptKind is what an attempt asks of the channel.
type AttemptKind string

// Kinds of attempts.
const (
	AttemptSend  AttemptKind = "SEND"
	AttemptQuery AttemptKind = "QUERY"
	AttemptList  AttemptKind = "LIST"
)

// Attempt is one call to the channel. Its row is committed before the call; Answer is written once.
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

// Dispatch returns a dispatch by ordinal.
func (r *Record) Dispatch(no int) (*Dispatch, bool) {
	for i := range r.Dispatches {
		if r.Dispatches[i].Ordinal == no {
			return &r.Dispatches[i], true
		}
	}
	return nil, false
}

// Attempt returns an attempt by ordinal.
func (r *Record) Attempt(no int) (*Attempt, bool) {
	for i := range r.Attempts {
		if r.Attempts[i].No == no {
			return &r.Attempts[i], true
		}
	}
	return nil, false
}

// lastSend returns the newest send of a dispatch.
func (r *Record) lastSend(no int) (Attempt, bool) {
	for i := len(r.Attempts) - 1; i >= 0; i-- {
		if a := r.Attempts[i]; a.DispatchNo == no && a.Kind == AttemptSend {
			return a, true
		}
	}
	return Attempt{}, false
}

// firstTry returns when a number's first send started; zero = never.
func (r *Record) firstTry(no int) time.Time {
	for _, a := range r.Attempts {
		if a.DispatchNo == no && a.Kind == AttemptSend {
			return a.StartedAt
		}
	}
	return time.Time{}
}

// ClockMargin is subtracted from a key's expiry, because clocks differ.
const ClockMargin = 2 * time.Second

// keyExpired reports whether the key ends before a send that leaves now is over: horizon and ClockMargin before the expiry.
func (d Dispatch) keyExpired(c Contract, now time.Time) bool {
	return !d.KeyExpiresAt.IsZero() && !now.Before(d.KeyExpiresAt.Add(-c.Horizon.D()-ClockMargin))
}

// numberSpent reports whether the number may not be sent any more: its key expires, or the channel keeps the first answer of a
// key and that answer is unclear or had to be replaced by a proof of absence. The next number may follow only if nothing is
// exposed, which the caller checks.
func (r *Record) numberSpent(d Dispatch, c Contract, now time.Time) bool {
	if c.Key.KeepsAnswer && (r.answered(d.Ordinal, "") || r.answered(d.Ordinal, Unknown) || r.answered(d.Ordinal, RefusedEcho) ||
		r.Exposure(d, c, now).Proven) {
		return true
	}
	return r.tightened(d, c).keyExpired(c, now)
}

// tightened returns the dispatch with the key expiry of the present contract, if that is earlier than the one that the first
// send has fixed.
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

// MarkedIn reports whether the refund was marked in an epoch: its numbers, and the next one, may have been used in a future
// that a restore has removed.
func (r *Record) MarkedIn(epoch int) bool {
	for _, d := range r.Dispatches {
		if d.MarkedEpoch == epoch {
			return true
		}
	}
	return false
}
