package refund

import "time"

// LongestLease bounds what an owner lost in another epoch may still do.
const LongestLease = time.Minute

// scene is what a table row may look at and change: a working copy of the record with one fact in hand.
type scene struct {
	r         *Record
	c         Contract
	f         Fact
	now       time.Time
	d         *Dispatch // the one that the fact names
	attempt   *Attempt  // the one that the fact completes, or nil
	ackBefore bool      // the dispatch was acknowledged before this fact
	change    *Change
}

// sameEffect is the effect of ours that the fact speaks of: same channel id, or no id said or known and the same dispatch.
func (s *scene) sameEffect() *Effect {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if !e.Ours || (e.Status != EffectMoved && e.Status != EffectReversed) {
			continue
		}
		if s.f.ChannelRefundID != "" && e.ChannelRefundID == s.f.ChannelRefundID {
			return e
		}
		if s.f.ChannelRefundID == "" && e.DispatchNo == s.f.Dispatch {
			return e
		}
	}
	return nil
}

// movedEffect is the standing effect that the fact speaks of, else any standing one of its dispatch.
func (s *scene) movedEffect() *Effect {
	if e := s.sameEffect(); e != nil && e.Status == EffectMoved {
		return e
	}
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.Ours && e.DispatchNo == s.f.Dispatch && e.Status == EffectMoved && (s.f.ChannelRefundID == "" || e.ChannelRefundID == "") {
			return e
		}
	}
	return nil
}

// effectWithoutID is a standing effect of the fact's dispatch that has no channel id yet.
func (s *scene) effectWithoutID() *Effect {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.Ours && e.DispatchNo == s.f.Dispatch && e.ChannelRefundID == "" && e.Status == EffectMoved {
			return e
		}
	}
	return nil
}

// foreignEffect is a line of the payment that we adopted as foreign under the id that the fact now gives.
func (s *scene) foreignEffect() *Effect {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if !e.Ours && e.Status == EffectMoved && s.f.ChannelRefundID != "" && e.ChannelRefundID == s.f.ChannelRefundID {
			return e
		}
	}
	return nil
}

func (s *scene) newerSendOpen() bool {
	for _, a := range s.r.Attempts {
		if a.No > s.attempt.No && a.Kind == AttemptSend && a.Answer == "" {
			return true
		}
	}
	return false
}

// askedAfterAck says whether the question left after the acknowledgement had to be visible.
func (s *scene) askedAfterAck() bool {
	for _, a := range s.r.Attempts {
		if a.DispatchNo == s.d.No && a.Answer == Acknowledged {
			return s.attempt.StartedAt.After(a.AnsweredAt.Add(s.c.asking().VisibilityLag.D()))
		}
	}
	return false
}
