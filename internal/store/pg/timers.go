package pg

import (
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// timerSlack is how much further away than refund.LongestWait a timer may be: the time between the reading of a clock and the write.
const timerSlack = time.Minute

// TimerLimit is how far away the timer of refunds r can be: refund.LongestWait and timerSlack.
var TimerLimit = fmt.Sprintf(`CASE WHEN r.state = 'PROCESSING' THEN interval '%d seconds' WHEN r.pending_reason = 'low-balance' THEN interval '%d seconds'
      ELSE interval '%d seconds' END`, timerSeconds(refund.StateProcessing, ""), timerSeconds(refund.StatePending, refund.PendingLowBalance),
	timerSeconds(refund.StateUnknown, ""))

func timerSeconds(s refund.State, why refund.PendingReason) int64 {
	return int64((refund.LongestWait(s, why) + timerSlack) / time.Second)
}
