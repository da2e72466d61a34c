package fault

// Name identifies a point at which a process can be killed. The table below has its text and meaning.
type Name uint8

// The points, in the order in which a refund passes them.
const (
	// The door: one transaction for a group of intakes.
	DoorBegin Name = iota
	DoorRead
	DoorWrite
	DoorUnread
	DoorCommitted
	DoorCapture
	DoorParked
	DoorNoticed
	AnswerRefund
	AnswerEvents
	PoisonWritten
	PoisonCommitted
	PaymentWritten
	PaymentCommitted

	// Ownership: claims, questions and timers.
	ClaimBefore
	ClaimCommitted
	ClaimAskBefore
	ClaimAskCommitted
	AskBefore
	AskCommitted
	PostponeBefore
	PostponeCommitted
	StepDone

	// The channel: one call.
	SendBefore
	SendAnswered
	QueryBefore
	QueryAnswered
	ListBefore
	ListAnswered
	WireSent

	// Facts: one transaction each, by what is entered.
	EnterLocked
	SucceededWritten
	SucceededCommitted
	AcceptedWritten
	AcceptedCommitted
	FailedWritten
	FailedCommitted
	ReversedWritten
	ReversedCommitted
	RefusedWritten
	RefusedCommitted
	RetryableWritten
	RetryableCommitted
	AmbiguousWritten
	AmbiguousCommitted
	AbsentWritten
	AbsentCommitted
	LeaseEndWritten
	LeaseEndCommitted
	DeadlineWritten
	DeadlineCommitted
	CancelWritten
	CancelCommitted
	NoticeWritten
	NoticeCommitted

	// Lines of a payment that belong to no query: one transaction for all consequences.
	LineHeldWritten
	LineHeldCommitted
	LinePairedWritten
	LinePairedCommitted
	LineAloneWritten
	LineAloneCommitted
	LineSettledWritten
	LineSettledCommitted
	LineUnpairedWritten
	LineUnpairedCommitted

	// Decisions of people.
	ProposalWritten
	ProposalCommitted
	ApprovalWritten
	ApprovalCommitted
	RejectionWritten
	RejectionCommitted
	AppliedWritten
	AppliedCommitted
	AppliedLaterWritten
	AppliedLaterCommitted
	ParkedTryBefore
	ParkedTryCommitted
	ParkedDiscardBefore
	ParkedDiscardCommitted

	// Work that is due by time.
	SweepWritten
	SweepCommitted
	SweepParkedWritten
	SweepParkedCommitted
	SweepCasesBefore
	SweepCasesCommitted
	WakeRead
	WakeDecided
	MaintainBefore
	MaintainDone

	// Anchors of the journal, and their copy in a file.
	AnchorWritten
	AnchorCommitted
	AnchorFileBefore
	AnchorFileWritten
	AnchorFileSynced

	// Epochs, after a restore or a failover.
	EpochAdoptBefore
	EpochAdoptCommitted
	EpochHoldBefore
	EpochHoldCommitted
	EpochMarkWritten
	EpochMarkCommitted
	EpochResumeBefore
	EpochResumeCommitted
	EpochMarkNewBefore
	EpochMarkNewCommitted

	// Bridges of brokers.
	BridgeFetched
	BridgeStored
	BridgeTraced
	BridgeAcked

	// Setting up.
	MigrateLocked
	MigrateRiver
	MigrateApplied
	MigrateInstalled
	MigratePartition
	MigratePartitioned
	MigrateDone
	AccountsWritten
	AccountsCommitted
	TenantBefore
	TenantCommitted
	KeyBefore
	KeyCommitted
	KeyRevokeBefore
	KeyRevokeCommitted
	TenantCloseBefore
	TenantCloseCommitted

	// The record of the simulator.
	RecordBefore
	RecordWritten
	RecordSynced

	count
)

// Info is the name of a point, and what has happened when a process is killed there.
type Info struct{ Text, Means string }

var table = [count]Info{
	DoorBegin:              {"door.begin", "a group is complete, nothing is read"},
	DoorRead:               {"door.read", "locks are held and the view is read"},
	DoorWrite:              {"door.write", "every row and COMMIT is queued, none is sent"},
	DoorUnread:             {"door.unread", "rows and COMMIT are sent, the answer is unread"},
	DoorCommitted:          {"door.committed", "committed, no answer was given"},
	DoorCapture:            {"door.capture", "as DoorCommitted, of a group with a capture"},
	DoorParked:             {"door.parked", "as DoorCommitted, of a group that parked a message"},
	DoorNoticed:            {"door.noticed", "rows are written, and the notices that came before them, not committed"},
	AnswerRefund:           {"answer.refund", "POST /v1/refunds was decided, the answer is not written"},
	AnswerEvents:           {"answer.events", "POST /v1/events was decided, the answer is not written"},
	PoisonWritten:          {"poison.written", "an undecodable message is written, not committed"},
	PoisonCommitted:        {"poison.committed", "it is committed, no answer was given"},
	PaymentWritten:         {"payment.written", "a payment's snapshot is written, not committed"},
	PaymentCommitted:       {"payment.committed", "it is committed, no answer was given"},
	ClaimBefore:            {"claim.before", "a send was decided, its claim is not sent"},
	ClaimCommitted:         {"claim.committed", "lease, attempt and exposure are durable, no byte is sent"},
	ClaimAskBefore:         {"claim-ask.before", "a query was decided, its claim is not sent"},
	ClaimAskCommitted:      {"claim-ask.committed", "the query's attempt is durable, no byte is sent"},
	AskBefore:              {"ask.before", "a person requests a check, the attempt is not written"},
	AskCommitted:           {"ask.committed", "the attempt is durable, no byte is sent"},
	PostponeBefore:         {"postpone.before", "a wait was decided, the timer is not moved"},
	PostponeCommitted:      {"postpone.committed", "the timer is moved, the job is not complete"},
	StepDone:               {"step.done", "a step is done and durable, its job is not complete"},
	SendBefore:             {"send.before", "a send is about to start"},
	SendAnswered:           {"send.answered", "its answer is read and only in memory"},
	QueryBefore:            {"query.before", "a query is about to start"},
	QueryAnswered:          {"query.answered", "its answer is read and only in memory"},
	ListBefore:             {"list.before", "a list is about to start"},
	ListAnswered:           {"list.answered", "its answer is read and only in memory"},
	WireSent:               {"wire.sent", "bytes of a call are sent, the answer is unread"},
	EnterLocked:            {"enter.locked", "the refund is locked and read"},
	SucceededWritten:       {"succeeded.written", "a success is written, not committed"},
	SucceededCommitted:     {"succeeded.committed", "it is committed"},
	AcceptedWritten:        {"accepted.written", "an acknowledgement is written, not committed"},
	AcceptedCommitted:      {"accepted.committed", "it is committed"},
	FailedWritten:          {"failed.written", "a final failure is written, not committed"},
	FailedCommitted:        {"failed.committed", "it is committed"},
	ReversedWritten:        {"reversed.written", "a return of the money is written, not committed"},
	ReversedCommitted:      {"reversed.committed", "it is committed"},
	RefusedWritten:         {"refused.written", "a refusal, echo or not, is written, not committed"},
	RefusedCommitted:       {"refused.committed", "it is committed"},
	RetryableWritten:       {"retryable.written", "an answer that allows another send is written, not committed"},
	RetryableCommitted:     {"retryable.committed", "it is committed"},
	AmbiguousWritten:       {"ambiguous.written", "an answer that proves nothing is written, not committed"},
	AmbiguousCommitted:     {"ambiguous.committed", "it is committed"},
	AbsentWritten:          {"absent.written", "an absence is written, not committed"},
	AbsentCommitted:        {"absent.committed", "it is committed"},
	LeaseEndWritten:        {"lease-end.written", "the end of a lease is written, not committed"},
	LeaseEndCommitted:      {"lease-end.committed", "it is committed"},
	DeadlineWritten:        {"deadline.written", "a case is written, not committed"},
	DeadlineCommitted:      {"deadline.committed", "it is committed"},
	CancelWritten:          {"cancel.written", "a withdrawal is written, not committed"},
	CancelCommitted:        {"cancel.committed", "it is committed, no answer was given"},
	NoticeWritten:          {"notice.written", "a notice is written, not committed"},
	NoticeCommitted:        {"notice.committed", "it is committed, the notice is not acknowledged"},
	LineHeldWritten:        {"line-held.written", "a line that may be a refund of ours is held, not committed"},
	LineHeldCommitted:      {"line-held.committed", "it is committed"},
	LinePairedWritten:      {"line-paired.written", "the id of a line is assigned to an effect without one, not committed"},
	LinePairedCommitted:    {"line-paired.committed", "it is committed"},
	LineAloneWritten:       {"line-alone.written", "a line is booked for the payment without a refund, not committed"},
	LineAloneCommitted:     {"line-alone.committed", "it is committed"},
	LineSettledWritten:     {"line-settled.written", "no held line can be the refund any more, not committed"},
	LineSettledCommitted:   {"line-settled.committed", "it is committed"},
	LineUnpairedWritten:    {"line-unpaired.written", "an id from a line is removed again, not committed"},
	LineUnpairedCommitted:  {"line-unpaired.committed", "it is committed, the refund that owns the id does not have it"},
	ProposalWritten:        {"proposal.written", "a proposal is written, not committed"},
	ProposalCommitted:      {"proposal.committed", "it is committed, no answer was given"},
	ApprovalWritten:        {"approval.written", "an approval is written, not committed"},
	ApprovalCommitted:      {"approval.committed", "it is committed, no answer was given"},
	RejectionWritten:       {"rejection.written", "a rejection is written, not committed"},
	RejectionCommitted:     {"rejection.committed", "it is committed, no answer was given"},
	AppliedWritten:         {"applied.written", "a decision takes effect with its approval, not committed"},
	AppliedCommitted:       {"applied.committed", "it is committed, no answer was given"},
	AppliedLaterWritten:    {"applied-later.written", "a decision takes effect when no earlier request can execute any more, not committed"},
	AppliedLaterCommitted:  {"applied-later.committed", "it is committed"},
	ParkedTryBefore:        {"parked-try.before", "a parked message was tried without success, the try is not counted"},
	ParkedTryCommitted:     {"parked-try.committed", "it is counted, no answer was given"},
	ParkedDiscardBefore:    {"parked-discard.before", "a parked message is about to be discarded"},
	ParkedDiscardCommitted: {"parked-discard.committed", "it is discarded, no answer was given"},
	SweepWritten:           {"sweep.written", "timers are moved and jobs inserted, not committed"},
	SweepCommitted:         {"sweep.committed", "they are committed"},
	SweepParkedWritten:     {"sweep-parked.written", "waiting messages are counted and their job is inserted, not committed"},
	SweepParkedCommitted:   {"sweep-parked.committed", "they are committed"},
	SweepCasesBefore:       {"sweep-cases.before", "cases and proposals that are over are about to be closed"},
	SweepCasesCommitted:    {"sweep-cases.committed", "they are closed, no approved decision was examined"},
	WakeRead:               {"wake.read", "messages that wait for a payment are read"},
	WakeDecided:            {"wake.decided", "the door has decided them, the job is not complete"},
	MaintainBefore:         {"maintain.before", "maintenance is about to start"},
	MaintainDone:           {"maintain.done", "it is done, its job is not complete"},
	AnchorWritten:          {"anchor.written", "an anchor is written, not committed"},
	AnchorCommitted:        {"anchor.committed", "it is committed, the file does not have it"},
	AnchorFileBefore:       {"anchor-file.before", "the missing anchors are read, none is written to the file"},
	AnchorFileWritten:      {"anchor-file.written", "it is written, not fsynced"},
	AnchorFileSynced:       {"anchor-file.synced", "it is on the disk"},
	EpochAdoptBefore:       {"epoch-adopt.before", "the database has moved and lost nothing, its identity is not updated"},
	EpochAdoptCommitted:    {"epoch-adopt.committed", "the new identity is written"},
	EpochHoldBefore:        {"epoch-hold.before", "the database has moved, sending is not held"},
	EpochHoldCommitted:     {"epoch-hold.committed", "it is held"},
	EpochMarkWritten:       {"epoch-mark.written", "a refund's marks are written, not committed"},
	EpochMarkCommitted:     {"epoch-mark.committed", "they are committed, other refunds have none"},
	EpochResumeBefore:      {"epoch-resume.before", "every open refund is marked, sending is held"},
	EpochResumeCommitted:   {"epoch-resume.committed", "the epoch has begun, no answer was given"},
	EpochMarkNewBefore:     {"epoch-mark-new.before", "how long new refunds are marked is about to change"},
	EpochMarkNewCommitted:  {"epoch-mark-new.committed", "it is changed, no answer was given"},
	BridgeFetched:          {"bridge.fetched", "a group is fetched, nothing is stored"},
	BridgeStored:           {"bridge.stored", "it is committed, not acknowledged"},
	BridgeTraced:           {"bridge.traced", "its deliveries are traced, not acknowledged"},
	BridgeAcked:            {"bridge.acked", "it is acknowledged"},
	MigrateLocked:          {"migrate.locked", "the schema's lock is held, nothing is applied"},
	MigrateRiver:           {"migrate.river", "a step of River's tables is applied, not recorded"},
	MigrateApplied:         {"migrate.applied", "all steps are applied, the installation is not written"},
	MigrateInstalled:       {"migrate.installed", "the installation is written, partitions are missing"},
	MigratePartition:       {"migrate.partition", "a partition is created, not committed"},
	MigratePartitioned:     {"migrate.partitioned", "it is committed, others are missing"},
	MigrateDone:            {"migrate.done", "everything is done, the lock is held"},
	AccountsWritten:        {"accounts.written", "the configured accounts are written, not committed"},
	AccountsCommitted:      {"accounts.committed", "they are committed"},
	TenantBefore:           {"tenant.before", "a tenant is about to be written"},
	TenantCommitted:        {"tenant.committed", "it is committed"},
	KeyBefore:              {"key.before", "an API key is about to be written"},
	KeyCommitted:           {"key.committed", "it is committed, it was not printed"},
	KeyRevokeBefore:        {"key-revoke.before", "an API key is about to be revoked"},
	KeyRevokeCommitted:     {"key-revoke.committed", "it is revoked, no answer was given"},
	TenantCloseBefore:      {"tenant-close.before", "a tenant is about to be closed"},
	TenantCloseCommitted:   {"tenant-close.committed", "it is closed, no answer was given"},
	RecordBefore:           {"record.before", "lines of sends are staged, none is written"},
	RecordWritten:          {"record.written", "they are written, not fsynced"},
	RecordSynced:           {"record.synced", "they are on the disk, no answer is given"},
}

// Points returns all points.
func Points() []Info { return table[:] }

// String returns the name of the point as --fault takes it.
func (n Name) String() string {
	if n >= count {
		return "?"
	}
	return table[n].Text
}
