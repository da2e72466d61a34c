-- +goose Up
CREATE TABLE payments (
  tenant_id bigint NOT NULL,
  payment_id text COLLATE "C" NOT NULL,
  order_id text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  channel_reference text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  exponent smallint NOT NULL,
  known_by text COLLATE "C" NOT NULL,
  version bigint NOT NULL DEFAULT 0,
  captured bigint NOT NULL,
  reserved bigint NOT NULL DEFAULT 0,
  refunded bigint NOT NULL DEFAULT 0,
  refunded_elsewhere bigint NOT NULL DEFAULT 0,
  held bigint NOT NULL DEFAULT 0,
  excess bigint NOT NULL DEFAULT 0,
  excess_accepted bigint NOT NULL DEFAULT 0,
  refunds int NOT NULL DEFAULT 0,
  last_rid uuid,
  next_send_at timestamptz,
  window_ends_at timestamptz,
  paid_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT payments_pk PRIMARY KEY (tenant_id, payment_id),
  CONSTRAINT payments_reference_uq UNIQUE (account, channel_reference),
  CONSTRAINT payments_id_ck CHECK (payment_id ~ '^[A-Za-z0-9._:~@=+-]{1,64}$'),
  CONSTRAINT payments_order_ck CHECK (order_id ~ '^[A-Za-z0-9._:~@=+-]{1,64}$'),
  CONSTRAINT payments_currency_ck CHECK (currency ~ '^[A-Z]{3}$'),
  CONSTRAINT payments_exponent_ck CHECK (exponent BETWEEN 0 AND 4),
  CONSTRAINT payments_known_by_ck CHECK (known_by IN ('snapshot','captures')),
  CONSTRAINT payments_captured_ck CHECK (captured BETWEEN 1 AND 9007199254740991),
  CONSTRAINT payments_reserved_ck CHECK (reserved >= 0),
  CONSTRAINT payments_refunded_ck CHECK (refunded >= 0),
  CONSTRAINT payments_elsewhere_ck CHECK (refunded_elsewhere >= 0),
  CONSTRAINT payments_held_ck CHECK (held >= 0),
  CONSTRAINT payments_excess_ck CHECK (excess >= 0),
  CONSTRAINT payments_excess_accepted_ck CHECK (excess_accepted >= 0),
  CONSTRAINT payments_not_over_refunded_ck CHECK (reserved + refunded + refunded_elsewhere + held <= captured + excess),
  CONSTRAINT payments_excess_exact_ck CHECK (excess = greatest(0, reserved + refunded + refunded_elsewhere + held - captured))
) WITH (fillfactor = 60);
CREATE INDEX payments_order_ix ON payments (tenant_id, order_id);
COMMENT ON INDEX payments_order_ix IS 'Refunds of an order are found through its payments, so that only payments pay for an index.';
COMMENT ON TABLE payments IS 'Payments and their counters. Inserted by accept (PUT, inline or captured event); the counters are changed by accept, enter and people under the row lock.';
COMMENT ON COLUMN payments.tenant_id IS 'Tenant. Written once by accept.';
COMMENT ON COLUMN payments.payment_id IS 'The caller''s id of the payment. Written once by accept.';
COMMENT ON COLUMN payments.order_id IS 'The order that was paid. Written once by accept.';
COMMENT ON COLUMN payments.account IS 'Account at the channel. Written once by accept.';
COMMENT ON COLUMN payments.channel_reference IS 'The channel''s reference of the payment; <tenant code>:<payment_id> when the request has none. Written once by accept.';
COMMENT ON COLUMN payments.currency IS 'ISO 4217, upper case. Written once by accept.';
COMMENT ON COLUMN payments.exponent IS 'Decimals of the currency on the day when the payment was announced. Written once by accept.';
COMMENT ON COLUMN payments.known_by IS 'snapshot or captures: the first announcement decides, and the other kind is then a conflict. Written once by accept.';
COMMENT ON COLUMN payments.version IS 'Version of the newest snapshot, 0 without one; never decreases. Written by accept.';
COMMENT ON COLUMN payments.captured IS 'Minor units captured: the snapshot''s amount, or the sum of captures. Written by accept.';
COMMENT ON COLUMN payments.reserved IS 'Sum of the amounts of open refunds. Added by accept, released by enter and people.';
COMMENT ON COLUMN payments.refunded IS 'Sum of effects.counted over moved effects. Written by enter and people.';
COMMENT ON COLUMN payments.refunded_elsewhere IS 'Refunded outside of this installation, from the snapshot. Written by accept.';
COMMENT ON COLUMN payments.held IS 'Sum of the held lines and of the amounts of final refunds that are still exposed. Written by enter and people.';
COMMENT ON COLUMN payments.excess IS 'By how much the counters exceed captured. Recomputed by enter, cancel and PUT, never when a refund is accepted.';
COMMENT ON COLUMN payments.excess_accepted IS 'Excess that a person has accepted; more excess than this has an open case. Written by people.';
COMMENT ON COLUMN payments.refunds IS 'Number of refunds accepted so far. Written by accept.';
COMMENT ON COLUMN payments.last_rid IS 'Newest refund: the head of the chain through refunds.prev_rid, which replaces an index on refunds. Written by accept.';
COMMENT ON COLUMN payments.next_send_at IS 'Earliest time of the next send for this payment (spacing of the contract). Written by claim.';
COMMENT ON COLUMN payments.window_ends_at IS 'End of the contract''s refund window, null without one: from paid_at where it is known, else from created_at. Written by accept, with the row and with paid_at.';
COMMENT ON COLUMN payments.paid_at IS 'When the payer paid, from the caller; null until it is known. The refund window begins then. Written once by accept, with the row or later.';
COMMENT ON COLUMN payments.created_at IS 'Database time of the insert. Written once by accept.';

CREATE TABLE captures (
  tenant_id bigint NOT NULL,
  payment_id text COLLATE "C" NOT NULL,
  capture_id text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT captures_pk PRIMARY KEY (tenant_id, payment_id, capture_id),
  CONSTRAINT captures_amount_ck CHECK (amount > 0),
  CONSTRAINT captures_payment_fk FOREIGN KEY (tenant_id, payment_id) REFERENCES payments
);
COMMENT ON TABLE captures IS 'One row for each capture of a payment known by captures; append-only. Written by accept.';
COMMENT ON COLUMN captures.tenant_id IS 'Tenant. Written once by accept.';
COMMENT ON COLUMN captures.payment_id IS 'The payment. Written once by accept.';
COMMENT ON COLUMN captures.capture_id IS 'The caller''s id of the capture. Written once by accept.';
COMMENT ON COLUMN captures.amount IS 'Minor units of this capture. Written once by accept.';
COMMENT ON COLUMN captures.at IS 'Database time of the insert. Written once by accept.';

CREATE TABLE refund_keys (
  tenant_id bigint NOT NULL,
  refund_id text COLLATE "C" NOT NULL,
  rid uuid NOT NULL,
  CONSTRAINT refund_keys_pk PRIMARY KEY (tenant_id, refund_id),
  CONSTRAINT refund_keys_id_ck CHECK (refund_id ~ '^[A-Za-z0-9._:~@=+-]{1,64}$')
);
COMMENT ON TABLE refund_keys IS 'Uniqueness of refund ids, for ever. Append-only; a narrow table of its own, so that refunds can be partitioned later. Written by accept.';
COMMENT ON COLUMN refund_keys.tenant_id IS 'Tenant. Written once by accept.';
COMMENT ON COLUMN refund_keys.refund_id IS 'The caller''s id of the refund. Written once by accept.';
COMMENT ON COLUMN refund_keys.rid IS 'Our id of the same refund. Written once by accept.';

CREATE TABLE refunds (
  tenant_id bigint NOT NULL,
  rid uuid NOT NULL,
  refund_id text COLLATE "C" NOT NULL,
  payment_id text COLLATE "C" NOT NULL,
  order_id text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  channel_reference text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  exponent smallint NOT NULL,
  amount bigint NOT NULL,
  digest bytea NOT NULL,
  prev_rid uuid,
  reason text,
  metadata jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  state text COLLATE "C" NOT NULL,
  pending_reason text COLLATE "C",
  failure_code text COLLATE "C",
  failure_channel_code text COLLATE "C",
  exposed boolean NOT NULL DEFAULT false,
  case_id uuid,
  ask_no smallint,
  epoch int NOT NULL,
  generation int NOT NULL DEFAULT 0,
  lease_ends_at timestamptz,
  next_action_at timestamptz,
  dispatch_no smallint NOT NULL DEFAULT 1,
  attempt_no int NOT NULL DEFAULT 0,
  journal_seq int NOT NULL,
  journal_head bytea NOT NULL,
  state_since timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  final_at timestamptz,
  CONSTRAINT refunds_pk PRIMARY KEY (tenant_id, rid),
  CONSTRAINT refunds_payment_fk FOREIGN KEY (tenant_id, payment_id) REFERENCES payments,
  CONSTRAINT refunds_amount_ck CHECK (amount BETWEEN 1 AND 9007199254740991),
  CONSTRAINT refunds_digest_ck CHECK (octet_length(digest) = 33),
  CONSTRAINT refunds_state_ck CHECK (state IN ('PENDING','PROCESSING','ACCEPTED','UNKNOWN','SUCCESS','FAILED','CANCELED','REVERSED')),
  CONSTRAINT refunds_journal_seq_ck CHECK (journal_seq > 0),
  CONSTRAINT refunds_journal_head_ck CHECK (octet_length(journal_head) = 32),
  CONSTRAINT refunds_lease_ck CHECK ((state <> 'PROCESSING' OR lease_ends_at IS NOT NULL) AND (lease_ends_at IS NULL OR generation > 0)),
  CONSTRAINT refunds_timer_ck CHECK (
    (state IN ('SUCCESS','FAILED','CANCELED','REVERSED') AND NOT exposed AND case_id IS NULL) = (next_action_at IS NULL)),
  CONSTRAINT refunds_final_ck CHECK ((state IN ('SUCCESS','FAILED','CANCELED','REVERSED')) = (final_at IS NOT NULL)),
  CONSTRAINT refunds_exposed_ck CHECK (
    CASE WHEN exposed THEN state <> 'PENDING' AND (final_at IS NULL OR case_id IS NOT NULL)
         ELSE state NOT IN ('PROCESSING','ACCEPTED','UNKNOWN') END),
  CONSTRAINT refunds_pending_ck CHECK (state = 'PENDING' OR (pending_reason IS NULL AND ask_no IS NULL)),
  CONSTRAINT refunds_final_lease_ck CHECK (final_at IS NULL OR lease_ends_at IS NULL)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX refunds_due_ix ON refunds (next_action_at) WHERE next_action_at IS NOT NULL;
CREATE INDEX refunds_open_ix ON refunds (tenant_id, rid) WHERE final_at IS NULL;
COMMENT ON INDEX refunds_due_ix IS 'Read by the sweep.';
COMMENT ON INDEX refunds_open_ix IS 'List of open refunds; accept appends to it. There is deliberately no index on state, payment or order.';
COMMENT ON CONSTRAINT refunds_timer_ck ON refunds IS 'A refund has a timer if and only if it is not final, is exposed, or has a case.';
COMMENT ON CONSTRAINT refunds_exposed_ck ON refunds IS 'An exposed refund is not PENDING, and is final only with a case; a refund in PROCESSING, UNKNOWN or ACCEPTED is exposed.';
COMMENT ON TABLE refunds IS 'One row for each refund, never deleted. Its state changes only along refunds_transitions(), by a guarded UPDATE of one row. Inserted by accept.';
COMMENT ON COLUMN refunds.tenant_id IS 'Tenant. Written once by accept.';
COMMENT ON COLUMN refunds.rid IS 'Our id: uuid v7 from the accepting process, so that rows append. Written once by accept.';
COMMENT ON COLUMN refunds.refund_id IS 'The caller''s id. Written once by accept.';
COMMENT ON COLUMN refunds.payment_id IS 'The payment that is refunded. Written once by accept.';
COMMENT ON COLUMN refunds.order_id IS 'Order of the payment. Written once by accept.';
COMMENT ON COLUMN refunds.account IS 'Account, copied from the payment. Written once by accept.';
COMMENT ON COLUMN refunds.channel_reference IS 'The channel''s reference of the payment, copied from it. Written once by accept.';
COMMENT ON COLUMN refunds.currency IS 'Copied from the payment. Written once by accept.';
COMMENT ON COLUMN refunds.exponent IS 'Copied from the payment. Written once by accept.';
COMMENT ON COLUMN refunds.amount IS 'Requested minor units. Written once by accept.';
COMMENT ON COLUMN refunds.digest IS 'Version byte and SHA-256 of the parameters. Written once by accept.';
COMMENT ON COLUMN refunds.prev_rid IS 'The payment''s refund before this one, null for the first. Written once by accept.';
COMMENT ON COLUMN refunds.reason IS 'The caller''s text; not in the digest, may be erased. Written by accept.';
COMMENT ON COLUMN refunds.metadata IS 'The caller''s labels; not in the digest, may be erased. Written by accept.';
COMMENT ON COLUMN refunds.created_at IS 'Database time of acceptance. Written once by accept.';
COMMENT ON COLUMN refunds.state IS 'State. Written by accept, claim, enter, sweep, people and epoch, always with a journal row.';
COMMENT ON COLUMN refunds.pending_reason IS 'Why it waits in PENDING (queued, low-balance, spacing, …), null in other states. Written by accept, enter and sweep.';
COMMENT ON COLUMN refunds.failure_code IS 'Why it failed, such as channel-refused or decided-not-done. Written by enter and people.';
COMMENT ON COLUMN refunds.failure_channel_code IS 'The channel''s own code, if it gave one. Written with failure_code by enter and people.';
COMMENT ON COLUMN refunds.exposed IS 'A request of one of its dispatches may have been carried out, and no evidence excludes it. Written by claim, enter, people and epoch.';
COMMENT ON COLUMN refunds.case_id IS 'The open case, null without one. Written by enter, sweep and people.';
COMMENT ON COLUMN refunds.ask_no IS 'Dispatch that must be queried again before a decided resend is sent. Written by people, cleared by enter.';
COMMENT ON COLUMN refunds.epoch IS 'Epoch of the last owner; never decreases. Written by accept, claim and epoch.';
COMMENT ON COLUMN refunds.generation IS 'Increases by one with every claim and only then: it guards every action of an owner. Written by claim.';
COMMENT ON COLUMN refunds.lease_ends_at IS 'Until when the last claimer may start a call, database time. Written by claim, cleared by enter and sweep.';
COMMENT ON COLUMN refunds.next_action_at IS 'The one timer: when the next step is due. Written by every change of the row.';
COMMENT ON COLUMN refunds.dispatch_no IS 'The live dispatch; never decreases. Written by accept, enter and people.';
COMMENT ON COLUMN refunds.attempt_no IS 'Ordinal of the newest attempt, 0 before the first; never decreases. Written by claim and by checks.';
COMMENT ON COLUMN refunds.journal_seq IS 'seq of the newest journal row, and the version in the API. Written by every journalled change.';
COMMENT ON COLUMN refunds.journal_head IS 'hash of the newest journal row. Written together with journal_seq.';
COMMENT ON COLUMN refunds.state_since IS 'Database time of the last change of state. Written with state.';
COMMENT ON COLUMN refunds.updated_at IS 'Database time of the last change of the row. Written by every change.';
COMMENT ON COLUMN refunds.final_at IS 'Database time of reaching a final state, null while open. Written with state.';
