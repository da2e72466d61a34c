package refund

import (
	"slices"
	"time"
)

// Obstacle is why a decision is not possible now. It is a stable name; Text is for people.
type Obstacle string

// Obstacles.
const (
	ObstacleNoCase          Obstacle = "no-open-case"
	ObstacleInFlight        Obstacle = "call-in-flight"
	ObstacleFinalNegative   Obstacle = "final-negative-known"
	ObstacleEnded           Obstacle = "already-ended"
	ObstacleNotEnded        Obstacle = "not-ended"
	ObstacleNothingExposed  Obstacle = "nothing-exposed"
	ObstacleAcknowledged    Obstacle = "acknowledged-by-channel"
	ObstacleAnotherExposed  Obstacle = "another-number-exposed"
	ObstacleAskOpen         Obstacle = "ask-open"
	ObstacleCannotAsk       Obstacle = "cannot-ask"
	ObstacleNotByPerson     Obstacle = "not-confirmed-by-person"
	ObstacleOfPayment       Obstacle = "about-a-payment"
	ObstacleNoSuchLine      Obstacle = "no-such-line"
	ObstacleLineElsewhere   Obstacle = "line-of-another-decision"
	ObstacleEqualLine       Obstacle = "equal-line-adopted"
	ObstacleAccountNotKnown Obstacle = "account-not-configured"
)

var obstacleTexts = map[Obstacle]string{
	ObstacleNoCase:          "No case is open, so there is nothing to decide.",
	ObstacleInFlight:        "A call to the channel is in flight. Its answer, or the end of its time, comes first.",
	ObstacleFinalNegative:   "The channel has said that this number ended without money moving.",
	ObstacleEnded:           "The refund has ended already.",
	ObstacleNotEnded:        "The refund has not ended yet.",
	ObstacleNothingExposed:  "None of the refund's numbers can have moved this money.",
	ObstacleAcknowledged:    "The channel has acknowledged this refund: another number could pay a second time.",
	ObstacleAnotherExposed:  "Another number of this refund may still pay.",
	ObstacleAskOpen:         "A resend waits for the channel's answer about the previous number.",
	ObstacleCannotAsk:       "The channel cannot be queried about the first request. Confirm that it was not done, then ask for a new refund.",
	ObstacleNotByPerson:     "No success of this refund was confirmed by a person alone.",
	ObstacleOfPayment:       "The case is about a payment, not about a refund.",
	ObstacleNoSuchLine:      "No line of this payment that may be this refund has this id.",
	ObstacleLineElsewhere:   "Only confirm-success names a line.",
	ObstacleEqualLine:       "A line of this amount was adopted as somebody else's refund. Name it, or say that both happened.",
	ObstacleAccountNotKnown: "This process does not know the account's contract.",
}

// Text returns the obstacle as a sentence.
func (o Obstacle) Text() string { return obstacleTexts[o] }

// NotAllowed is the error of a decision that the present state forbids.
type NotAllowed struct {
	Action Action
	Why    Obstacle
}

func (e *NotAllowed) Error() string {
	return "refund: " + string(e.Action) + " is not possible: " + string(e.Why)
}

// Choice says of one action whether it is possible now, and why not.
type Choice struct {
	Action  Action
	Allowed bool
	Why     Obstacle // "" when allowed
	From    time.Time
	Lines   []RID // confirm-success: lines that it can name
}

// Allowed returns for each action whether it is possible for the refund as it stands. Choice.From is the earliest time at
// which the decision can take effect, because a request may still be executed before; it is zero when that time has passed.
func Allowed(r Record, c Contract, now time.Time) []Choice {
	from := r.TakesEffectFrom(c)
	if !from.After(now) {
		from = time.Time{}
	}
	var out []Choice
	for _, a := range Actions() {
		choice := Choice{Action: a, Why: r.obstacle(a, c)}
		choice.Allowed = choice.Why == ""
		if choice.Allowed && a != ActionWait {
			choice.From = from
		}
		if choice.Allowed && a == ActionConfirmSuccess {
			choice.Lines = r.attachable()
		}
		out = append(out, choice)
	}
	return out
}

// AllowedForPayment returns the choices of a case about a payment's excess.
func AllowedForPayment() []Choice {
	var out []Choice
	for _, a := range Actions() {
		choice := Choice{Action: a, Allowed: a == ActionWait || a == ActionAcceptAsIs}
		if !choice.Allowed {
			choice.Why = ObstacleOfPayment
		}
		out = append(out, choice)
	}
	return out
}

// Obstructed returns the obstacle to a decision as *NotAllowed, or nil. It reads the decision's action, line and BothHappened.
func Obstructed(r Record, d Decision, c Contract) error {
	why := r.obstacle(d.Action, c)
	switch {
	case why != "":
	case !d.EffectID.IsZero():
		why = r.lineObstacle(d.Action, d.EffectID)
	case d.Action == ActionConfirmSuccess:
		if why = r.obstacleToSuccess(); why == "" && !d.BothHappened && r.equalLineAdopted() {
			why = ObstacleEqualLine
		}
	}
	if why != "" {
		return &NotAllowed{Action: d.Action, Why: why}
	}
	return nil
}

func (r *Record) obstacle(a Action, c Contract) Obstacle {
	switch {
	case r.Case == nil:
		return ObstacleNoCase
	case a == ActionWait:
		return ""
	case r.State == StateProcessing:
		return ObstacleInFlight
	}
	switch a {
	case ActionConfirmSuccess: // a line may be named where the refund alone cannot be confirmed
		if len(r.attachable()) == 0 {
			return r.obstacleToSuccess()
		}
	case ActionConfirmNotDone:
		if r.State.Final() {
			return ObstacleEnded
		}
	case ActionResend:
		return r.obstacleToResend(c)
	case ActionAcceptAsIs:
		if !r.State.Final() && len(r.linesHeldFor()) == 0 && !r.Payment.excessUnaccepted() {
			return ObstacleNotEnded
		}
	case ActionRevokeConfirmation:
		if r.State != StateSuccess || !r.confirmedByPerson() {
			return ObstacleNotByPerson
		}
	case ActionWait: // handled above
	}
	return ""
}

// obstacleToSuccess forbids booking a number that is known to have ended negatively.
func (r *Record) obstacleToSuccess() Obstacle {
	no := r.numberToConfirm()
	if no == 0 {
		return ObstacleNothingExposed
	}
	if d, _ := r.Dispatch(no); !d.FinalNegativeAt.IsZero() {
		return ObstacleFinalNegative
	}
	return ""
}

// numberToConfirm returns the number whose success a person can confirm. It is an exposed one: acknowledged by the channel,
// else sent, else the newest. With nothing exposed it is the number of the open ask, else the live one of an open refund; of
// an ended refund it is a number that only a decision closed, if a held line may be its own, or the newest that was sent, if a
// person has asked for a review. 0 = none.
func (r *Record) numberToConfirm() int {
	for _, likely := range []func(Dispatch) bool{
		func(d Dispatch) bool { return d.Acknowledged },
		func(d Dispatch) bool { _, sent := r.lastSend(d.Ordinal); return sent },
		func(Dispatch) bool { return true },
	} {
		for i := len(r.Dispatches) - 1; i >= 0; i-- {
			if d := r.Dispatches[i]; d.Exposed && likely(d) {
				return d.Ordinal
			}
		}
	}
	switch {
	case r.AskNo != 0:
		return r.AskNo
	case !r.State.Final():
		return r.DispatchNo
	case r.Case.Has(CaseReview):
		return r.newestSentUnbooked()
	}
	for _, line := range r.linesHeldFor() {
		if no, how := r.ownership(line); how == ownsUnproven {
			return no
		}
	}
	return 0
}

// numberForLine returns the number that made a held line if the line is this refund: one that may have made it, else the one
// that a person can confirm. It was sent, or may have been. 0 = none.
func (r *Record) numberForLine(line RID) int {
	for _, e := range r.Effects {
		if e.Ours || e.ID != line {
			continue
		}
		for _, d := range r.Dispatches { // a line that explains booked money is not booked beside it
			if r.unnamedEffect(d.Ordinal, e) != nil {
				return d.Ordinal
			}
		}
		if no, how := r.ownership(e); how != ownsNot {
			return no
		}
		if d, ok := r.Dispatch(r.numberToConfirm()); ok && r.wasSent(*d) {
			return d.Ordinal
		}
	}
	return 0
}

// newestSentUnbooked returns the newest number that was sent and has no effect: the one that a person's evidence is about when
// the refund has ended without it. 0 = none.
func (r *Record) newestSentUnbooked() int {
	for i := len(r.Dispatches) - 1; i >= 0; i-- {
		no := r.Dispatches[i].Ordinal
		if _, sent := r.lastSend(no); sent && !r.booked(no) {
			return no
		}
	}
	return 0
}

// attachable returns the lines that confirm-success can name: held ones, and adopted ones that may be this refund.
func (r *Record) attachable() []RID {
	var out []RID
	for _, e := range r.Effects {
		if r.lineObstacle(ActionConfirmSuccess, e.ID) == "" {
			out = append(out, e.ID)
		}
	}
	return out
}

// obstacleToResend allows a second number only if the channel can be asked about the first one and nothing shows that it has
// it. A number that provably did nothing needs no question.
func (r *Record) obstacleToResend(c Contract) Obstacle {
	d, _ := r.Dispatch(r.DispatchNo)
	switch {
	case r.State.Final():
		return ObstacleEnded
	case r.AskNo != 0:
		return ObstacleAskOpen
	case d.Acknowledged || r.State == StateAccepted:
		return ObstacleAcknowledged
	case r.otherExposed(d.Ordinal):
		return ObstacleAnotherExposed
	case !c.questionTerms().Exists && d.Exposed:
		return ObstacleCannotAsk
	}
	return ""
}

func (r *Record) confirmedByPerson() bool {
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Ours && e.Status == EffectMoved && e.ByPersonOnly() {
			return true
		}
	}
	return false
}

func (r *Record) lineObstacle(a Action, line RID) Obstacle {
	if a != ActionConfirmSuccess {
		return ObstacleLineElsewhere
	}
	i := slices.IndexFunc(r.Effects, func(e Effect) bool { return !e.Ours && e.ID == line })
	if i < 0 {
		return ObstacleNoSuchLine
	}
	_, how := r.ownership(r.Effects[i])
	if e := r.Effects[i]; !e.heldLine() && (!e.adoptedLine() || how != ownsUnproven) {
		return ObstacleNoSuchLine
	}
	d, ok := r.Dispatch(r.numberForLine(line))
	switch {
	case !ok:
		return ObstacleNothingExposed
	case !d.FinalNegativeAt.IsZero():
		return ObstacleFinalNegative
	}
	return ""
}
