package crash

import (
	"slices"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/fault"
)

// place is a fault point, and how the load leads to it.
type place struct {
	name string
	most int           // the latest pass with a kill; 1 = always the first
	wait time.Duration // how long the load may take to pass it
}

// rare points are passed seldom, or need a condition: the end of a lease, a new leader of the jobs. The load passes all
// others continually, so a kill can come at a later pass too.
var rare = map[fault.Name]time.Duration{
	fault.SweepWritten: 60 * time.Second, fault.SweepCommitted: 60 * time.Second, fault.NoticeWritten: 60 * time.Second, fault.NoticeCommitted: 60 * time.Second,
	fault.LeaseEndWritten: 60 * time.Second, fault.LeaseEndCommitted: 60 * time.Second,
	fault.SweepParkedWritten: 60 * time.Second, fault.SweepParkedCommitted: 60 * time.Second,
	fault.WakeRead: 60 * time.Second, fault.WakeDecided: 60 * time.Second,
	fault.MaintainBefore: 60 * time.Second, fault.MaintainDone: 60 * time.Second,
	fault.ReversedWritten: 60 * time.Second, fault.ReversedCommitted: 60 * time.Second,
	fault.FailedWritten: 60 * time.Second, fault.FailedCommitted: 60 * time.Second,
	fault.AbsentWritten: 60 * time.Second, fault.AbsentCommitted: 60 * time.Second,
	fault.PostponeBefore: 60 * time.Second, fault.PostponeCommitted: 60 * time.Second,
	fault.CancelWritten: 60 * time.Second, fault.CancelCommitted: 60 * time.Second,
	fault.AccountsWritten: 60 * time.Second, fault.AccountsCommitted: 60 * time.Second,
	fault.DoorCapture: 60 * time.Second, fault.DoorParked: 60 * time.Second, fault.AnswerEvents: 60 * time.Second,
	fault.PoisonWritten: 60 * time.Second, fault.PoisonCommitted: 60 * time.Second,
	fault.BridgeFetched: 60 * time.Second, fault.BridgeStored: 60 * time.Second, fault.BridgeTraced: 60 * time.Second, fault.BridgeAcked: 60 * time.Second,
	fault.DeadlineWritten: 60 * time.Second, fault.DeadlineCommitted: 60 * time.Second,
	fault.DoorNoticed:     60 * time.Second,
	fault.LineHeldWritten: 60 * time.Second, fault.LineHeldCommitted: 60 * time.Second,
	fault.LineAloneWritten: 60 * time.Second, fault.LineAloneCommitted: 60 * time.Second,
	fault.LineSettledWritten: 60 * time.Second, fault.LineSettledCommitted: 60 * time.Second,
	fault.ProposalWritten: 60 * time.Second, fault.ProposalCommitted: 60 * time.Second,
	fault.ApprovalWritten: 60 * time.Second, fault.ApprovalCommitted: 60 * time.Second,
	fault.RejectionWritten: 60 * time.Second, fault.RejectionCommitted: 60 * time.Second,
	fault.AppliedWritten: 60 * time.Second, fault.AppliedCommitted: 60 * time.Second,
	fault.AppliedLaterWritten: 60 * time.Second, fault.AppliedLaterCommitted: 60 * time.Second,
}

// setup reports whether a point is passed by the commands that create an installation.
func setup(name string) bool {
	return slices.Contains([]string{"migrate", "tenant", "key", "tenant-close", "key-revoke"}, strings.Split(name, ".")[0])
}

// staged reports whether a point is passed only on purpose: see epochs and pairs.
func staged(name string) bool {
	return strings.HasPrefix(name, "epoch-") || strings.HasPrefix(name, "line-paired.") || strings.HasPrefix(name, "line-unpaired.")
}

// strangers reports whether these points need foreign refunds at the channel: lines that belong to no request, and notices
// of unknown numbers. While such notices are kept the door takes another way, so the load makes none elsewhere.
func strangers(of []place) bool {
	return slices.ContainsFunc(of, func(p place) bool { return strings.HasPrefix(p.name, "line-") || p.name == fault.DoorNoticed.String() })
}

// places are the points of the running program. A point that needs an earlier kill elsewhere follows that one directly.
func places() []place {
	var all []place
	for i, p := range fault.Points() {
		if setup(p.Text) || staged(p.Text) {
			continue
		}
		wait, seldom := rare[fault.Name(i)]
		if seldom {
			all = append(all, place{p.Text, 1, wait})
		} else {
			all = append(all, place{p.Text, 4, 60 * time.Second})
		}
	}
	after(all, fault.ClaimCommitted, fault.LeaseEndWritten, fault.LeaseEndCommitted)
	after(all, fault.LineAloneCommitted, fault.DoorNoticed)
	after(all, fault.WakeRead, fault.SweepParkedWritten, fault.SweepParkedCommitted)
	return all
}

// after moves points directly behind another one.
func after(all []place, first fault.Name, next ...fault.Name) {
	for i := len(next) - 1; i >= 0; i-- {
		from := slices.IndexFunc(all, func(p place) bool { return p.name == next[i].String() })
		moved := all[from]
		copy(all[from:], all[from+1:])
		rest := all[:len(all)-1]
		at := slices.IndexFunc(rest, func(p place) bool { return p.name == first.String() }) + 1
		copy(all[at+1:], all[at:len(all)-1])
		all[at] = moved
	}
}
