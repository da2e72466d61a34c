package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// Door decides requests for refunds. It returns one outcome per intake, in order.
// Errors: refund.ErrUnavailable, ErrCommitUnknown, ErrOverloaded.
type Door interface {
	Accept(ctx context.Context, intakes []intake.Intake) ([]intake.Outcome, error)
}

// Refunds reads refunds of one tenant. Errors: refund.ErrNotFound, ErrUnavailable.
type Refunds interface {
	FindRefund(ctx context.Context, tenant refund.TenantID, refundID string) (refund.Refund, error)
	// ListRefunds returns at most q.Limit refunds, the newest first.
	ListRefunds(ctx context.Context, tenant refund.TenantID, q RefundQuery) ([]refund.Refund, error)
	Timeline(ctx context.Context, tenant refund.TenantID, refundID string) (Timeline, error)
}

// Actions change existing refunds at the wish of a caller. Both may be repeated. Errors:
// refund.ErrNotFound, ErrNotCancelable (Cancel), ErrBusy, ErrUnavailable.
type Actions interface {
	Cancel(ctx context.Context, tenant refund.TenantID, refundID, actor string) (refund.Refund, error)
	// Check queries the channel now and returns the refund as it is afterwards. learned = it has a newer version. The error
	// refund.CannotAsk says why nothing can be asked.
	Check(ctx context.Context, tenant refund.TenantID, refundID, actor string) (r refund.Refund, learned bool, err error)
}

// Payments stores payments. Errors: *refund.Problem (payment-parameters-conflict
// with the fields, payment-below-refunded, account-not-allowed, reference-not-allowed,
// amount-not-expressible), refund.ErrNotFound (FindPayment), ErrBusy, ErrUnavailable.
type Payments interface {
	// PutPayment stores a snapshot. created = the payment was unknown before.
	PutPayment(ctx context.Context, tenant refund.Tenant, paymentID string, spec intake.PaymentSpec, actor string) (p refund.Payment, created bool, err error)
	FindPayment(ctx context.Context, tenant refund.TenantID, paymentID string) (PaymentView, error)
}

// Cases are decided by people. Errors: refund.ErrNotFound, ErrUnavailable; of Propose
// and Judge also *refund.Problem (case-closed, decision-pending, decision-void,
// decision-judged, approver-is-maker), *refund.NotAllowed, refund.ErrBusy. Both may be
// repeated.
type Cases interface {
	// ListCases returns at most q.Limit cases: open ones oldest first, closed ones newest first.
	ListCases(ctx context.Context, tenant refund.TenantID, q refund.CaseFilter) ([]refund.CaseRow, error)
	FindCase(ctx context.Context, tenant refund.TenantID, id refund.RID) (refund.CaseView, error)
	// OpenCase opens a case on a refund in any state; actor is the actor's name. opened = none was open before.
	OpenCase(ctx context.Context, tenant refund.TenantID, refundID, evidence, actor string) (id refund.RID, opened bool, err error)
	// Propose stores a proposal. created = it is new.
	Propose(ctx context.Context, p refund.Proposal) (d refund.Decision, created bool, err error)
	Judge(ctx context.Context, a refund.Approval) (refund.Decision, error)
}

// EventDecoder decodes one CloudEvent to an intake without tenant, consumer, actor and
// parking position. attributes are those of binary mode, encoded as they came, by their names in lower case and without
// "ce-"; nil = body is the whole event as JSON. With an error, the intake has the parts
// of the event's identity that could be read. An error with the methods Pointer and
// Detail describes the fault.
type EventDecoder interface {
	Decode(attributes map[string]string, body []byte) (in intake.Intake, tenantCode string, err error)
}

// EventParker stores events that were not passed to the Door, with the reason, in one transaction. Parking a
// position again increments its count. Errors: refund.ErrUnavailable.
type EventParker interface {
	ParkAll(ctx context.Context, rows []intake.ParkedRow) error
}

// Messages reads the trace of the messages of bridges. Errors: refund.ErrUnavailable.
type Messages interface {
	// ListMessages returns at most q.Limit messages without their deliveries. The one with the latest delivery is first.
	ListMessages(ctx context.Context, tenant refund.TenantID, q intake.MessageQuery) ([]intake.Message, error)
	// Messages returns the messages with this event id, one for each source; source "" = of any.
	Messages(ctx context.Context, tenant refund.TenantID, consumer, eventID, source string) ([]intake.Message, error)
}

// ParkedMessages reads and closes parked messages. Errors: refund.ErrNotFound, ErrUnavailable; of Redrive also *refund.Problem
// (not-redrivable), ErrBusy and ErrOverloaded.
type ParkedMessages interface {
	// ListParked returns at most q.Limit messages without their bytes, the oldest first.
	ListParked(ctx context.Context, tenant refund.TenantID, q intake.ParkedFilter) ([]intake.ParkedView, error)
	ParkedMessage(ctx context.Context, tenant refund.TenantID, id refund.RID) (intake.ParkedView, error)
	// Redrive and Discard may be repeated.
	Redrive(ctx context.Context, tenant refund.TenantID, id refund.RID, actor string) (intake.Redriven, error)
	Discard(ctx context.Context, tenant refund.TenantID, id refund.RID, actor string) (intake.ParkedView, error)
}

// Limits bound a request. Zero = the default.
type Limits struct {
	Body     int64         // bytes of a refund or payment; 64 KiB
	Events   int64         // bytes of a body of events; 4 MiB
	Notice   int64         // bytes of a channel's notice; 256 KiB
	Batch    int           // events of a body; 1000
	BodyTime time.Duration // for a body to arrive; 10 s
	Request  time.Duration // for an answer, without the wait that the caller asks for; 15 s
	Waiters  int           // requests that wait at the same time; further ones do not wait; 512
	KeyTTL   time.Duration // of a cached row of an API key, at most 1 s; 1 s
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Body: or(l.Body, 64<<10), Events: or(l.Events, 4<<20), Notice: or(l.Notice, 256<<10), Batch: or(l.Batch, 1000),
		BodyTime: or(l.BodyTime, 10*time.Second), Request: or(l.Request, 15*time.Second),
		Waiters: or(l.Waiters, 512), KeyTTL: or(l.KeyTTL, time.Second),
	}
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// ReadyCheck is a condition of readiness.
type ReadyCheck struct {
	Name  string
	Check func(ctx context.Context) error
}

// Config of the API. The fields of the first block are required.
type Config struct {
	Door     Door
	Refunds  Refunds
	Actions  Actions
	Payments Payments
	Keys     KeyStore
	Events   EventDecoder
	Parking  EventParker
	Messages Messages
	Parked   ParkedMessages
	Cases    Cases

	Notices Notices // of channels; nil = the path does not exist
	// NoticeSeen counts a notice by its outcome, a refund.NoticeOutcome or "forged". nil = not counted.
	NoticeSeen func(account, outcome string)
	Ready      []ReadyCheck     // of /readyz, run in order
	Metrics    http.Handler     // of /metrics; nil = the path does not exist
	Build      Build            // of /version
	Log        *slog.Logger     // default: discards
	Clock      func() time.Time // default: time.Now
	Limits     Limits
}

// service implements the generated server. Its handlers are in the files of the
// resources (cases.go, events.go, …), its middleware in auth.go, body.go, router.go and
// validate.go.
type service struct {
	door     Door
	refunds  Refunds
	actions  Actions
	payments Payments
	events   EventDecoder
	parking  EventParker
	messages Messages
	parked   ParkedMessages
	cases    Cases
	notices  Notices

	noticeSeen func(account, outcome string)

	ready    []ReadyCheck
	build    Build
	clock    func() time.Time
	limits   Limits
	waiters  chan struct{} // one token per waiting request
	retiring chan struct{} // closed by Retire
	stopping chan struct{} // closed by Drain

	problems   *problems
	auth       *authenticator
	operations map[route]*operation
}

var _ oapi.StrictServerInterface = (*service)(nil)

func newService(c Config) (*service, error) {
	if c.Door == nil || c.Refunds == nil || c.Actions == nil || c.Payments == nil || c.Keys == nil ||
		c.Events == nil || c.Parking == nil || c.Messages == nil || c.Parked == nil || c.Cases == nil {
		return nil, errors.New("httpapi: a required part of the configuration is missing")
	}
	c.Log = or(c.Log, slog.New(slog.DiscardHandler))
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NoticeSeen == nil {
		c.NoticeSeen = func(string, string) {}
	}
	limits := c.Limits.withDefaults()
	s := &service{
		door: c.Door, refunds: c.Refunds, actions: c.Actions, payments: c.Payments, events: c.Events, parking: c.Parking,
		messages: c.Messages, parked: c.Parked, cases: c.Cases, notices: c.Notices, noticeSeen: c.NoticeSeen,
		ready: c.Ready, build: c.Build, clock: c.Clock, limits: limits,
		waiters: make(chan struct{}, limits.Waiters), retiring: make(chan struct{}), stopping: make(chan struct{}),
		problems: newProblems(c.Log), auth: &authenticator{keys: newKeyCache(c.Keys, limits.KeyTTL, c.Clock), clock: c.Clock},
	}
	spec, err := oapi.GetSpec()
	if err != nil {
		return nil, err
	}
	asRequestSchemas(spec)
	s.operations, err = operationsOf(spec)
	return s, err
}
