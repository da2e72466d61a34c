// Package jobs runs the workflow. River's jobs are wake-up calls and nothing more: what is to be done is read from the refund's record
// each time, and a job that comes twice, late or not at all changes nothing but time. The sweeper of every replica makes up for lost ones.
package jobs

import (
	"time"

	"github.com/riverqueue/river"

	"github.com/refundry/refundry/internal/refund"
)

// queueRefunds holds the steps; everything else shares River's default queue.
const queueRefunds = "refunds"

const (
	maxAttempts = 1000
	cooldown    = 10 * time.Millisecond // of inserting and working clients: throughput is workers / cooldown
)

// stepArgs asks for the next step of one refund. The generation is the one that the inserter saw: with another one in the row, somebody
// has taken the step already.
type stepArgs struct {
	TenantID   int64  `json:"tenantId"`
	RID        string `json:"rid"`
	Generation int    `json:"generation"`
}

// Kind is River's name of the job.
func (stepArgs) Kind() string { return "refund_step" }

// InsertOpts puts steps into their own queue.
func (stepArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueRefunds, MaxAttempts: maxAttempts}
}

// wakeArgs asks to try again what waits for a payment.
type wakeArgs struct {
	TenantID  int64  `json:"tenantId"`
	PaymentID string `json:"paymentId"`
}

// Kind is River's name of the job.
func (wakeArgs) Kind() string { return "payment_wake" }

// InsertOpts bounds the tries.
func (wakeArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{MaxAttempts: maxAttempts} }

// maintenanceArgs asks for the housekeeping that one replica does for all.
type maintenanceArgs struct{}

// Kind is River's name of the job.
func (maintenanceArgs) Kind() string { return "maintenance" }

// InsertOpts: the next one comes by itself.
func (maintenanceArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{MaxAttempts: 3} }

// argsOf turns a wake-up into its job.
func argsOf(w refund.Wakeup) river.JobArgs {
	if w.PaymentID != "" {
		return wakeArgs{TenantID: int64(w.Tenant), PaymentID: w.PaymentID}
	}
	return stepArgs{TenantID: int64(w.Tenant), RID: w.RID.String(), Generation: w.Generation}
}
