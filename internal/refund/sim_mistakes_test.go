package refund

// Mistakes that a story's world makes itself.
const (
	onlyKnownNumbersMarked = "an epoch marks only the numbers that it knows"
	reseenNotMarked        = "a refund that is seen again is not marked"
)

// claims makes the record's owner of the next call.
func (w *world) claims(r Record, kind AttemptKind, no int) (Record, int, bool) {
	return claim(r, kind, no, w.c, w.now())
}

func (w *world) decides(r Record, d Decision) (Change, error) { return ApplyDecision(r, d, w.c) }
