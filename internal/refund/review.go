package refund

// ReviewRequested is the journal's kind of a person's doubt about a refund. It opens a case and changes nothing else.
const ReviewRequested FactKind = "REVIEW_REQUESTED"

// RequestReview opens a case on a refund in any state, final ones too, because a person has evidence that its outcome is wrong.
// Decisions about the case are proposed and approved as any other. actor is "actor:<name>". false = a case is open already.
func RequestReview(r Record, actor string, c Contract) (Change, bool, error) {
	if r.Case != nil {
		return Change{}, false, nil
	}
	return lineChange(r, c, Fact{Kind: ReviewRequested, Dispatch: r.DispatchNo, Source: "person", Actor: actor}, func(*transition) {}, CaseReview)
}
