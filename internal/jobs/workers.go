package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
)

type stepWorker struct {
	river.WorkerDefaults[stepArgs]
	r *Runner
}

// Work makes one step. River repeats it after an error; a job that cannot succeed is canceled, and the sweeper inserts
// another one if needed.
func (w *stepWorker) Work(ctx context.Context, job *river.Job[stepArgs]) error {
	rid, err := refund.ParseRID(job.Args.RID)
	if err != nil {
		return river.JobCancel(err)
	}
	err = w.r.step(ctx, refund.RefundRef{Tenant: refund.TenantID(job.Args.TenantID), RID: rid}, job.Args.Generation)
	if errors.Is(err, refund.ErrNotFound) {
		return river.JobCancel(err)
	}
	fault.Point(fault.StepDone)
	return err
}

type wakeWorker struct {
	river.WorkerDefaults[wakeArgs]
	r *Runner
}

// Work settles the held lines of a payment and retries the messages that wait for it.
func (w *wakeWorker) Work(ctx context.Context, job *river.Job[wakeArgs]) error {
	if err := w.r.cfg.Store.SettleLines(ctx, refund.TenantID(job.Args.TenantID), job.Args.PaymentID); err != nil {
		return err
	}
	if w.r.cfg.Waker == nil {
		return errors.New("jobs: this process has no waker")
	}
	return w.r.cfg.Waker.WakePayment(ctx, refund.TenantID(job.Args.TenantID), job.Args.PaymentID)
}

type maintenanceWorker struct {
	river.WorkerDefaults[maintenanceArgs]
	r *Runner
}

// Work maintains the installation.
func (w *maintenanceWorker) Work(ctx context.Context, _ *river.Job[maintenanceArgs]) error {
	if w.r.cfg.Maintain == nil {
		return nil
	}
	fault.Point(fault.MaintainBefore)
	err := w.r.cfg.Maintain.Maintain(ctx)
	fault.Point(fault.MaintainDone)
	return err
}

// jitter is the share by which every pause of the workflow varies, so that processes and jobs do not retry at the same moment.
const jitter = 0.2

// retryPolicy retries a failed job after 1, 2, 4 … s, at most one minute, each ± 20 %.
type retryPolicy struct{}

// NextRetry returns when a failed job is repeated.
func (retryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	retry := clock.Backoff{First: time.Second, Longest: time.Minute, Share: jitter}
	return time.Now().Add(retry.After(job.Attempt))
}
