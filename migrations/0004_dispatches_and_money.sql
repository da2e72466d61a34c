-- +goose Up
CREATE TABLE retired_dispatches (
  tenant_id bigint NOT NULL,
  rid uuid NOT NULL,
  no smallint NOT NULL,
  proof_attempt int,
  decision_id uuid,
  epoch int,
  rule text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT retired_dispatches_pk PRIMARY KEY (tenant_id, rid, no),
  CONSTRAINT retired_dispatches_proof_ck CHECK (num_nonnulls(proof_attempt, decision_id, epoch) >= 1)
);
COMMENT ON TABLE retired_dispatches IS 'Retired numbers, each with its proof; the next number needs it. Append-only. Written by enter, people and epoch.';
COMMENT ON COLUMN retired_dispatches.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN retired_dispatches.rid IS 'The refund. Written once with the row.';
COMMENT ON COLUMN retired_dispatches.no IS 'The retired dispatch. Written once with the row.';
COMMENT ON COLUMN retired_dispatches.proof_attempt IS 'Attempt whose answer proves it. Written once by enter.';
COMMENT ON COLUMN retired_dispatches.decision_id IS 'Approved resend that overrides it. Written once by people.';
COMMENT ON COLUMN retired_dispatches.epoch IS 'Epoch whose marking made its key count as expired; equals dispatches.marked_epoch. Written once by epoch.';
COMMENT ON COLUMN retired_dispatches.rule IS 'The fact that retired the number, such as REFUSED_NEW_NUMBER, KEY_EXPIRED, NOT_FOUND or EPOCH_MARK, or the decision resend. Written once with the row.';
COMMENT ON COLUMN retired_dispatches.at IS 'Database time of the insert. Written once with the row.';

CREATE TABLE dispatches (
  tenant_id bigint NOT NULL,
  rid uuid NOT NULL,
  no smallint NOT NULL,
  prev_no smallint GENERATED ALWAYS AS (CASE WHEN no > 1 THEN no - 1 END) STORED,
  account text COLLATE "C" NOT NULL,
  number text COLLATE "C" NOT NULL,
  key_expires_at timestamptz,
  absence_counts_from timestamptz,
  exposed boolean NOT NULL DEFAULT false,
  overridden_by uuid,
  final_negative_at timestamptz,
  may_act_until timestamptz,
  marked_epoch int,
  acknowledged boolean NOT NULL DEFAULT false,
  channel_refund_id text COLLATE "C",
  at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT dispatches_pk PRIMARY KEY (tenant_id, rid, no),
  CONSTRAINT dispatches_number_uq UNIQUE (account, number),
  CONSTRAINT dispatches_no_ck CHECK (no > 0),
  CONSTRAINT dispatches_number_ck CHECK (length(number) BETWEEN 20 AND 64),
  CONSTRAINT dispatches_override_ck CHECK (overridden_by IS NULL OR NOT exposed),
  CONSTRAINT dispatches_refund_fk FOREIGN KEY (tenant_id, rid) REFERENCES refunds,
  CONSTRAINT dispatches_predecessor_retired_fk FOREIGN KEY (tenant_id, rid, prev_no) REFERENCES retired_dispatches
);
ALTER TABLE retired_dispatches ADD CONSTRAINT retired_dispatches_dispatch_fk FOREIGN KEY (tenant_id, rid, no) REFERENCES dispatches;
CREATE INDEX dispatches_channel_ix ON dispatches (account, channel_refund_id) WHERE channel_refund_id IS NOT NULL;
COMMENT ON INDEX dispatches_channel_ix IS 'Read when a notice names only the channel''s refund id. Not unique: a channel that gives one id to two refunds is recorded as it answered.';
COMMENT ON TABLE dispatches IS 'Identities of a refund at the channel, inserted before their first use and never reused. Inserted by accept, enter, people and epoch.';
COMMENT ON COLUMN dispatches.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN dispatches.rid IS 'The refund. Written once with the row.';
COMMENT ON COLUMN dispatches.no IS 'Ordinal 1, 2, 3 … of the refund. Written once with the row.';
COMMENT ON COLUMN dispatches.prev_no IS 'The previous ordinal, null for the first; it must be retired. Computed by the database.';
COMMENT ON COLUMN dispatches.account IS 'Account, within which numbers are unique. Written once with the row.';
COMMENT ON COLUMN dispatches.number IS 'Idempotency key or refund number at the channel; notices find the dispatch by it. Written once with the row.';
COMMENT ON COLUMN dispatches.key_expires_at IS 'When the key expires, database time. Written by the claim of the first send; a later contract may only make it earlier.';
COMMENT ON COLUMN dispatches.absence_counts_from IS 'From when a NOT_FOUND counts: latest not_after + horizon + visibility lag. Moved later by the claim of each send.';
COMMENT ON COLUMN dispatches.exposed IS 'A request may have been carried out, computed from all stored answers. Written by claim, enter, people and epoch.';
COMMENT ON COLUMN dispatches.overridden_by IS 'Approved decision that it was not carried out. Written by people, cleared by enter when a fact disproves it.';
COMMENT ON COLUMN dispatches.final_negative_at IS 'When the final negative status of the number became known. Written by enter.';
COMMENT ON COLUMN dispatches.may_act_until IS 'Marking time + longest lease: until when a lost owner may still send. Written by epoch.';
COMMENT ON COLUMN dispatches.marked_epoch IS 'Epoch that marked it: it is exposed, and its key is never sent again. Written by epoch.';
COMMENT ON COLUMN dispatches.acknowledged IS 'The channel has acknowledged it or given a refund id; NOT_FOUND then contradicts it. Written by enter.';
COMMENT ON COLUMN dispatches.channel_refund_id IS 'The channel''s id of the refund. Written by enter; removed only when it proves to belong to another refund.';
COMMENT ON COLUMN dispatches.at IS 'Database time of the insert. Written once with the row.';

CREATE TABLE attempts (
  tenant_id bigint NOT NULL,
  rid uuid NOT NULL,
  no int NOT NULL,
  epoch int NOT NULL,
  dispatch_no smallint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  generation int NOT NULL,
  contract_version int NOT NULL,
  request_digest bytea NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  not_after timestamptz NOT NULL,
  answered_at timestamptz,
  answer text COLLATE "C",
  rule text COLLATE "C",
  late boolean NOT NULL DEFAULT false,
  evidence jsonb,
  CONSTRAINT attempts_pk PRIMARY KEY (tenant_id, rid, no),
  CONSTRAINT attempts_kind_ck CHECK (kind IN ('SEND','QUERY','LIST')),
  CONSTRAINT attempts_answer_ck CHECK (answer IN ('SUCCEEDED','ACKNOWLEDGED','FAILED_FINAL','REFUSED','REFUSED_ECHO','REFUSED_NEW_NUMBER','RETRYABLE','NOT_SENT','NOT_FOUND','REVERSED','UNKNOWN')),
  CONSTRAINT attempts_answer_both_ck CHECK ((answer IS NULL) = (answered_at IS NULL)),
  CONSTRAINT attempts_dispatch_fk FOREIGN KEY (tenant_id, rid, dispatch_no) REFERENCES dispatches
) WITH (fillfactor = 60);
ALTER TABLE retired_dispatches ADD CONSTRAINT retired_dispatches_attempt_fk FOREIGN KEY (tenant_id, rid, proof_attempt) REFERENCES attempts;
COMMENT ON TABLE attempts IS 'One row for each call to a channel. Inserted by claim before the call, completed once by enter by its own key, whatever the generation is then.';
COMMENT ON COLUMN attempts.tenant_id IS 'Tenant. Written once by claim.';
COMMENT ON COLUMN attempts.rid IS 'The refund. Written once by claim.';
COMMENT ON COLUMN attempts.no IS '1, 2, 3 … per refund. Written once by claim.';
COMMENT ON COLUMN attempts.epoch IS 'Epoch of the claim. Written once by claim.';
COMMENT ON COLUMN attempts.dispatch_no IS 'The dispatch that is sent or queried. Written once by claim.';
COMMENT ON COLUMN attempts.kind IS 'SEND, QUERY or LIST. Written once by claim.';
COMMENT ON COLUMN attempts.generation IS 'Generation of the claim; a check of a final refund has the current one. Written once by claim.';
COMMENT ON COLUMN attempts.contract_version IS 'Version of the contract that classifies the answer. Written once by claim.';
COMMENT ON COLUMN attempts.request_digest IS 'SHA-256 of the request that will be sent. Written once by claim.';
COMMENT ON COLUMN attempts.started_at IS 'Clock of the database at the claim. Written once by claim.';
COMMENT ON COLUMN attempts.not_after IS 'No byte is sent after it. Written once by claim.';
COMMENT ON COLUMN attempts.answered_at IS 'Clock of the database when the answer was stored. Written once by enter.';
COMMENT ON COLUMN attempts.answer IS 'Class of the answer, null while the call is open. Written once by enter.';
COMMENT ON COLUMN attempts.rule IS 'Rule of the contract that classified the answer. Written once by enter.';
COMMENT ON COLUMN attempts.late IS 'The answer came after its owner had lost the lease. Written by enter.';
COMMENT ON COLUMN attempts.evidence IS 'The evidence: codes, times, shortened bodies without card data. Written by enter; archived by rules of its own.';

CREATE TABLE effects (
  tenant_id bigint NOT NULL,
  effect_id uuid NOT NULL,
  account text COLLATE "C" NOT NULL,
  payment_id text COLLATE "C" NOT NULL,
  rid uuid,
  dispatch_no smallint,
  channel_refund_id text COLLATE "C",
  amount bigint NOT NULL,
  currency text COLLATE "C" NOT NULL,
  counted bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  reversed_at timestamptz,
  voucher jsonb,
  CONSTRAINT effects_pk PRIMARY KEY (tenant_id, effect_id),
  CONSTRAINT effects_amount_ck CHECK (amount > 0),
  CONSTRAINT effects_counted_ck CHECK (counted > 0),
  CONSTRAINT effects_status_ck CHECK (status IN ('HELD','MOVED','REVERSED','DROPPED')),
  CONSTRAINT effects_owner_ck CHECK ((rid IS NULL) = (dispatch_no IS NULL)),
  CONSTRAINT effects_held_ck CHECK (status NOT IN ('HELD','DROPPED') OR rid IS NULL),
  CONSTRAINT effects_foreign_id_ck CHECK (rid IS NOT NULL OR channel_refund_id IS NOT NULL),
  CONSTRAINT effects_reversed_ck CHECK ((status = 'REVERSED') = (reversed_at IS NOT NULL)),
  CONSTRAINT effects_voucher_ck CHECK (jsonb_typeof(voucher) = 'object' AND octet_length(voucher::text) <= 4096),
  CONSTRAINT effects_payment_fk FOREIGN KEY (tenant_id, payment_id) REFERENCES payments
);
CREATE UNIQUE INDEX effects_dispatch_uq ON effects (tenant_id, rid, dispatch_no, (coalesce(channel_refund_id, ''))) WHERE rid IS NOT NULL AND status = 'MOVED';
CREATE UNIQUE INDEX effects_channel_uq ON effects (account, channel_refund_id) WHERE channel_refund_id IS NOT NULL AND status <> 'DROPPED';
CREATE INDEX effects_foreign_ix ON effects (tenant_id, payment_id) WHERE rid IS NULL;
CREATE INDEX effects_returned_ix ON effects (tenant_id, rid) WHERE status = 'REVERSED';
COMMENT ON INDEX effects_dispatch_uq IS 'One effect for each dispatch and channel id. A second effect has another channel id, belongs to the same refund, and opens a case.';
COMMENT ON INDEX effects_channel_uq IS 'A channel refund is booked once.';
COMMENT ON INDEX effects_foreign_ix IS 'Effects of a payment that belong to no known refund.';
COMMENT ON TABLE effects IS 'Money that moved at a channel: one row for each channel refund, our own or foreign. An effect can always be recorded and is never deleted. Written by enter and people.';
COMMENT ON COLUMN effects.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN effects.effect_id IS 'uuid v7. Written once with the row.';
COMMENT ON COLUMN effects.account IS 'Account where it happened. Written once with the row.';
COMMENT ON COLUMN effects.payment_id IS 'Payment that was refunded. Written once with the row.';
COMMENT ON COLUMN effects.rid IS 'The refund that it belongs to, null while foreign or held. Written by enter and people, with the row or later.';
COMMENT ON COLUMN effects.dispatch_no IS 'The dispatch that caused it. Written together with rid.';
COMMENT ON COLUMN effects.channel_refund_id IS 'The channel''s id; a settlement line without one gets an id from file, line and content. Written by enter, with the row or when paired.';
COMMENT ON COLUMN effects.amount IS 'Minor units that moved, from the channel. Written once with the row.';
COMMENT ON COLUMN effects.currency IS 'Currency that moved, from the channel. Written once with the row.';
COMMENT ON COLUMN effects.counted IS 'What it adds to payments.refunded: its amount; in another currency than the payment''s, the refund''s amount or, for a foreign line, the unconverted amount. Written once with the row.';
COMMENT ON COLUMN effects.status IS 'HELD, MOVED, REVERSED or DROPPED; changes in that direction only. Written by enter and people.';
COMMENT ON COLUMN effects.voucher IS 'The channel''s references by which the payer finds the money (ARN, receipt number, time): a flat object of texts, null when it gave none. Written by enter, with the row or when paired.';
COMMENT ON COLUMN effects.source IS 'How it became known: answer, query, list, notice, settlement, person. Written once with the row.';
COMMENT ON COLUMN effects.at IS 'Database time of the insert. Written once with the row.';
COMMENT ON COLUMN effects.reversed_at IS 'Database time when the return of the money became known. Written with status REVERSED.';

CREATE TABLE effect_events (
  tenant_id bigint NOT NULL,
  effect_id uuid NOT NULL,
  n int NOT NULL,
  from_status text COLLATE "C",
  to_status text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  data text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT effect_events_pk PRIMARY KEY (tenant_id, effect_id, n),
  CONSTRAINT effect_events_effect_fk FOREIGN KEY (tenant_id, effect_id) REFERENCES effects
);
COMMENT ON TABLE effect_events IS 'Changes of effects that are in no refund''s journal: held, adopted, moved to another refund, dropped, reversed. Append-only. Written by enter and people.';
COMMENT ON COLUMN effect_events.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN effect_events.effect_id IS 'The effect. Written once with the row.';
COMMENT ON COLUMN effect_events.n IS '1, 2, 3 … per effect. Written once with the row.';
COMMENT ON COLUMN effect_events.from_status IS 'Status before, null in the first row. Written once with the row.';
COMMENT ON COLUMN effect_events.to_status IS 'Status after. Written once with the row.';
COMMENT ON COLUMN effect_events.source IS 'Source of the change. Written once with the row.';
COMMENT ON COLUMN effect_events.actor IS 'actor:<name> or system:<role>. Written once with the row.';
COMMENT ON COLUMN effect_events.data IS 'Canonical JSON with the details. Written once with the row.';
COMMENT ON COLUMN effect_events.at IS 'Database time of the insert. Written once with the row.';

CREATE TABLE ledger_accounts (
  tenant_id bigint NOT NULL,
  code text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  CONSTRAINT ledger_accounts_pk PRIMARY KEY (tenant_id, code, currency)
);
COMMENT ON TABLE ledger_accounts IS 'Accounts of the ledger. Written by configure, and by enter at first use.';
COMMENT ON COLUMN ledger_accounts.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN ledger_accounts.code IS 'Name of the account. Written once with the row.';
COMMENT ON COLUMN ledger_accounts.currency IS 'Currency of its amounts. Written once with the row.';
COMMENT ON COLUMN ledger_accounts.kind IS 'Asset, liability and so on. Written once with the row.';

CREATE TABLE postings (
  tenant_id bigint NOT NULL,
  effect_id uuid NOT NULL,
  kind text COLLATE "C" NOT NULL,
  debit text COLLATE "C" NOT NULL,
  credit text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  currency text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT postings_pk PRIMARY KEY (tenant_id, effect_id, kind),
  CONSTRAINT postings_kind_ck CHECK (kind IN ('REFUND','REVERSAL')),
  CONSTRAINT postings_amount_ck CHECK (amount > 0),
  CONSTRAINT postings_accounts_ck CHECK (debit <> credit),
  CONSTRAINT postings_effect_fk FOREIGN KEY (tenant_id, effect_id) REFERENCES effects
);
COMMENT ON TABLE postings IS 'The ledger: each row is a balanced transfer, so the sum is always zero. Append-only. Written by enter and people with the state.';
COMMENT ON COLUMN postings.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN postings.effect_id IS 'The effect that it books. Written once with the row.';
COMMENT ON COLUMN postings.kind IS 'REFUND, or REVERSAL for its return. Written once with the row.';
COMMENT ON COLUMN postings.debit IS 'Account that is debited. Written once with the row.';
COMMENT ON COLUMN postings.credit IS 'Account that is credited. Written once with the row.';
COMMENT ON COLUMN postings.amount IS 'Minor units. Written once with the row.';
COMMENT ON COLUMN postings.currency IS 'Currency of the amount. Written once with the row.';
COMMENT ON COLUMN postings.at IS 'Database time of the insert. Written once with the row.';

CREATE VIEW ledger_entries AS
  SELECT tenant_id, effect_id, kind, debit AS account, currency, -amount AS amount, at FROM postings
  UNION ALL
  SELECT tenant_id, effect_id, kind, credit, currency, amount, at FROM postings;
COMMENT ON VIEW ledger_entries IS 'Every posting as its two signed entries. Computed.';
COMMENT ON COLUMN ledger_entries.tenant_id IS 'From the posting.';
COMMENT ON COLUMN ledger_entries.effect_id IS 'From the posting.';
COMMENT ON COLUMN ledger_entries.kind IS 'From the posting.';
COMMENT ON COLUMN ledger_entries.account IS 'The debited or the credited account of the posting.';
COMMENT ON COLUMN ledger_entries.currency IS 'From the posting.';
COMMENT ON COLUMN ledger_entries.amount IS 'Minor units, negative on the debit side.';
COMMENT ON COLUMN ledger_entries.at IS 'From the posting.';
