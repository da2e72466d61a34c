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
COMMENT ON TABLE retired_dispatches IS 'Retired numbers, each with its proof; opens the way to the next number. Append-only. Written by enter, people and epoch.';
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
COMMENT ON INDEX dispatches_channel_ix IS 'Looked through when a notice names the channel''s refund id only. Not unique: a channel that gives one id to two refunds is recorded as it spoke.';
COMMENT ON TABLE dispatches IS 'Identities at the channel below a refund, written before first use and never reused. Made by accept, enter, people and epoch.';
COMMENT ON COLUMN dispatches.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN dispatches.rid IS 'The refund. Written once with the row.';
COMMENT ON COLUMN dispatches.no IS 'Ordinal 1, 2, 3 … below the refund. Written once with the row.';
COMMENT ON COLUMN dispatches.prev_no IS 'The ordinal before, null for the first; its retirement is required. Computed by the database.';
COMMENT ON COLUMN dispatches.account IS 'Account whose numbers must not repeat. Written once with the row.';
COMMENT ON COLUMN dispatches.number IS 'Idempotency key or refund number at the channel; notices find the dispatch by it. Written once with the row.';
COMMENT ON COLUMN dispatches.key_expires_at IS 'End of the key''s life, database time. Frozen by the first send''s claim; a later contract may only tighten it.';
COMMENT ON COLUMN dispatches.absence_counts_from IS 'From when an absence reading counts: latest not_after + horizon + visibility lag. Moved later by every send''s claim.';
COMMENT ON COLUMN dispatches.exposed IS 'Fold over all stored answers: something may have reached the channel. Written by claim, enter, people and epoch.';
COMMENT ON COLUMN dispatches.overridden_by IS 'Approved decision that says it did not happen. Written by people, cleared by enter when a fact disproves it.';
COMMENT ON COLUMN dispatches.final_negative_at IS 'When the number''s final negative status became known, by whatever way. Written by enter.';
COMMENT ON COLUMN dispatches.may_act_until IS 'Marking time + longest lease: until when a lost owner may still send. Written by epoch.';
COMMENT ON COLUMN dispatches.marked_epoch IS 'Epoch that marked it: exposed, key never replayed. Written by epoch.';
COMMENT ON COLUMN dispatches.acknowledged IS 'The channel said that it has it, or gave a refund id: not-found is a contradiction from now on. Written by enter.';
COMMENT ON COLUMN dispatches.channel_refund_id IS 'The channel''s name of the refund. Written by enter; moves only when it proves to belong elsewhere.';
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
COMMENT ON TABLE attempts IS 'One row per call to a channel, inserted by claim before the call and completed once by enter through its own key, whatever the generation is by then.';
COMMENT ON COLUMN attempts.tenant_id IS 'Tenant. Written once by claim.';
COMMENT ON COLUMN attempts.rid IS 'The refund. Written once by claim.';
COMMENT ON COLUMN attempts.no IS '1, 2, 3 … per refund. Written once by claim.';
COMMENT ON COLUMN attempts.epoch IS 'Epoch of the claim. Written once by claim.';
COMMENT ON COLUMN attempts.dispatch_no IS 'The dispatch that is sent or asked for. Written once by claim.';
COMMENT ON COLUMN attempts.kind IS 'SEND, QUERY or LIST. Written once by claim.';
COMMENT ON COLUMN attempts.generation IS 'Generation of the claim; a check of a final refund carries the current one. Written once by claim.';
COMMENT ON COLUMN attempts.contract_version IS 'Version of the contract that judges the answer. Written once by claim.';
COMMENT ON COLUMN attempts.request_digest IS 'SHA-256 of the request that will be sent. Written once by claim.';
COMMENT ON COLUMN attempts.started_at IS 'Clock of the database at the claim. Written once by claim.';
COMMENT ON COLUMN attempts.not_after IS 'No byte leaves after it. Written once by claim.';
COMMENT ON COLUMN attempts.answered_at IS 'Clock of the database when the answer was stored. Written once by enter.';
COMMENT ON COLUMN attempts.answer IS 'Class of the answer, null while the call is open. Written once by enter.';
COMMENT ON COLUMN attempts.rule IS 'Contract rule that classed the answer. Written once by enter.';
COMMENT ON COLUMN attempts.late IS 'The answer came after the owner had lost the lease. Written by enter.';
COMMENT ON COLUMN attempts.evidence IS 'What was seen: codes, times, shortened bodies without card data. Written by enter; archived by its own rules.';

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
COMMENT ON INDEX effects_dispatch_uq IS 'One effect per dispatch and channel id. A second one is recordable under its own id, keeps its refund, and opens a case.';
COMMENT ON INDEX effects_channel_uq IS 'One channel refund is booked once.';
COMMENT ON INDEX effects_foreign_ix IS 'Effects of a payment that belong to no refund of ours.';
COMMENT ON TABLE effects IS 'Money that moved at a channel: one row per channel refund, ours or foreign; always recordable, never deleted. Written by enter and people.';
COMMENT ON COLUMN effects.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN effects.effect_id IS 'uuid v7. Written once with the row.';
COMMENT ON COLUMN effects.account IS 'Account where it happened. Written once with the row.';
COMMENT ON COLUMN effects.payment_id IS 'Payment that it took money back from. Written once with the row.';
COMMENT ON COLUMN effects.rid IS 'The refund that it belongs to, null while foreign or held. Written by enter and people, also when attributed later.';
COMMENT ON COLUMN effects.dispatch_no IS 'The dispatch that caused it. Written together with rid.';
COMMENT ON COLUMN effects.channel_refund_id IS 'The channel''s name; a settlement line without one gets a made one from file, line and content. Written by enter, also when paired later.';
COMMENT ON COLUMN effects.amount IS 'Minor units that moved, as the channel says. Written once with the row.';
COMMENT ON COLUMN effects.currency IS 'Currency that moved, as the channel says. Written once with the row.';
COMMENT ON COLUMN effects.counted IS 'What it weighs in payments.refunded: the amount; in another currency than the payment''s the refund''s amount, for a foreign line the number as it stands. Written once with the row.';
COMMENT ON COLUMN effects.status IS 'HELD, MOVED, REVERSED or DROPPED; only rises. Written by enter and people.';
COMMENT ON COLUMN effects.voucher IS 'What the channel gives a payer to find the money by (ARN, receipt number, time): a flat object of texts, null when it gave none. Written by enter, with the row or when the effect is paired.';
COMMENT ON COLUMN effects.source IS 'How it became known: answer, query, list, notice, settlement, person. Written once with the row.';
COMMENT ON COLUMN effects.at IS 'Database time of the insert. Written once with the row.';
COMMENT ON COLUMN effects.reversed_at IS 'Database time when the money''s return became known. Written with status REVERSED.';

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
COMMENT ON TABLE effect_events IS 'History of effects that no refund''s journal tells: held, adopted, re-attributed, dropped, reversed. Append-only. Written by enter and people.';
COMMENT ON COLUMN effect_events.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN effect_events.effect_id IS 'The effect. Written once with the row.';
COMMENT ON COLUMN effect_events.n IS '1, 2, 3 … per effect. Written once with the row.';
COMMENT ON COLUMN effect_events.from_status IS 'Status before, null at birth. Written once with the row.';
COMMENT ON COLUMN effect_events.to_status IS 'Status after. Written once with the row.';
COMMENT ON COLUMN effect_events.source IS 'What caused it. Written once with the row.';
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
COMMENT ON TABLE ledger_accounts IS 'Names of the accounts that postings move between. Written by configure and by enter at first use.';
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
COMMENT ON TABLE postings IS 'The ledger: one row is one balanced transfer, so it sums to zero by construction. Append-only. Written by enter and people with the state.';
COMMENT ON COLUMN postings.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN postings.effect_id IS 'The effect that it books. Written once with the row.';
COMMENT ON COLUMN postings.kind IS 'REFUND, or REVERSAL for its mirror. Written once with the row.';
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
