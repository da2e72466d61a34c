// Package jobs runs the workflow of refunds. A job of River only starts a step; the step itself is decided from the
// refund's record. A job that runs twice, late or never costs time and nothing else, and the sweeper of every replica
// replaces lost jobs.
package jobs

import (
	"time"

	"github.com/riverqueue/river"

	"github.com/refundry/refundry/internal/refund"
)

// queueRefunds has the steps of refunds; all other jobs are in River's default queue.
const queueRefunds = "refunds"

const (
	maxAttempts = 1000
	cooldown    = 10 * time.Millisecond // between two fetches; at most workers / cooldown jobs run per second
)

// stepArgs starts the next step of one refund. Generation is that of the row when the job was inserted; when the row has
// another one, the step was already made.
type stepArgs struct {
	TenantID   int64  `json:"tenantId"`
	RID        string `json:"rid"`
	Generation int    `json:"generation"`
}

// Kind returns River's name of the job.
func (stepArgs) Kind() string { return "refund_step" }

// InsertOpts puts steps into their own queue.
func (stepArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueRefunds, MaxAttempts: maxAttempts}
}

// wakeArgs starts another try of the messages that wait for a payment.
type wakeArgs struct {
	TenantID  int64  `json:"tenantId"`
	PaymentID string `json:"paymentId"`
}

// Kind returns River's name of the job.
func (wakeArgs) Kind() string { return "payment_wake" }

// InsertOpts limits the attempts.
func (wakeArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{MaxAttempts: maxAttempts} }

// maintenanceArgs starts the maintenance that one replica does for all.
type maintenanceArgs struct{}

// Kind returns River's name of the job.
func (maintenanceArgs) Kind() string { return "maintenance" }

// InsertOpts allows three attempts; the next periodic job follows in an hour.
func (maintenanceArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{MaxAttempts: 3} }

// argsOf returns the job of a wake-up.
func argsOf(w refund.Wakeup) river.JobArgs {
	if w.PaymentID != "" {
		return wakeArgs{TenantID: int64(w.Tenant), PaymentID: w.PaymentID}
	}
	return stepArgs{TenantID: int64(w.Tenant), RID: w.RID.String(), Generation: w.Generation}
}
