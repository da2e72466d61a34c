-- +goose Up
CREATE SEQUENCE journal_pos_seq CACHE 1;
COMMENT ON SEQUENCE journal_pos_seq IS 'Positions of the journal. CACHE must stay 1, so that pos increases with seq within a refund.';
CREATE TABLE journal (
  tenant_id bigint NOT NULL,
  rid uuid NOT NULL,
  seq int NOT NULL,
  pos bigint NOT NULL DEFAULT nextval('journal_pos_seq'),
  kind text COLLATE "C" NOT NULL,
  from_state text COLLATE "C",
  to_state text COLLATE "C" NOT NULL,
  generation int NOT NULL,
  source text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  fact_key bytea,
  at timestamptz NOT NULL,
  data text NOT NULL,
  private jsonb,
  digest bytea NOT NULL,
  hash bytea NOT NULL,
  replay_batch uuid,
  CONSTRAINT journal_pk PRIMARY KEY (tenant_id, rid, seq),
  CONSTRAINT journal_seq_ck CHECK (seq > 0),
  CONSTRAINT journal_birth_ck CHECK ((seq = 1) = (from_state IS NULL)),
  CONSTRAINT journal_fact_key_ck CHECK (octet_length(fact_key) = 32),
  CONSTRAINT journal_digest_ck CHECK (octet_length(digest) = 32),
  CONSTRAINT journal_hash_ck CHECK (octet_length(hash) = 32)
);
ALTER SEQUENCE journal_pos_seq OWNED BY journal.pos;
CREATE UNIQUE INDEX journal_pos_uq ON journal (pos);
CREATE UNIQUE INDEX journal_fact_uq ON journal (tenant_id, rid, fact_key) WHERE fact_key IS NOT NULL;
COMMENT ON INDEX journal_pos_uq IS 'The order of readers; a reader waits for older writers before it relies on a range of positions.';
COMMENT ON INDEX journal_fact_uq IS 'A fact is journalled once for each refund.';
COMMENT ON TABLE journal IS 'History of every refund: one row for each fact or transition, in the transaction of the change; append-only. Written by accept, claim, enter, sweep, people and epoch.';
COMMENT ON COLUMN journal.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN journal.rid IS 'The refund. Written once with the row.';
COMMENT ON COLUMN journal.seq IS '1, 2, 3 … of the refund without a gap. Written once with the row.';
COMMENT ON COLUMN journal.pos IS 'Position over all refunds, drawn after the refund''s row lock. Written once with the row.';
COMMENT ON COLUMN journal.kind IS 'The fact, in lower case. Written once with the row.';
COMMENT ON COLUMN journal.from_state IS 'State before, null in the first row. Written once with the row.';
COMMENT ON COLUMN journal.to_state IS 'State after; equal to from_state when the fact changed no state. Written once with the row.';
COMMENT ON COLUMN journal.generation IS 'Generation of the refund after the change. Written once with the row.';
COMMENT ON COLUMN journal.source IS 'Source of the fact, such as rest, the name of a bridge, worker, notice, list, decision, sweeper or epoch. Written once with the row.';
COMMENT ON COLUMN journal.actor IS 'actor:<name> or system:<role>. Written once with the row.';
COMMENT ON COLUMN journal.fact_key IS 'Identity of the fact, so that a known fact changes nothing; null for facts that may repeat. Written once with the row.';
COMMENT ON COLUMN journal.at IS 'Database time, part of hash. Written once with the row.';
COMMENT ON COLUMN journal.data IS 'Canonical JSON exactly as hashed; personal data only as salted digests. Written once with the row.';
COMMENT ON COLUMN journal.private IS 'Personal text and salt, whose digest is in data; may be erased. Written with the row.';
COMMENT ON COLUMN journal.digest IS 'SHA-256 of the entry''s canonical form, computed in Go. Written once with the row.';
COMMENT ON COLUMN journal.hash IS 'SHA-256 of the previous hash, rid, seq, at and digest, computed in SQL under the row lock. Written once with the row.';
COMMENT ON COLUMN journal.replay_batch IS 'The replay that caused it, null otherwise. Written with the row.';

CREATE TABLE readers (
  name text COLLATE "C" NOT NULL,
  generation int NOT NULL DEFAULT 1,
  owner text,
  lease_ends_at timestamptz,
  cursor bigint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT readers_pk PRIMARY KEY (name, generation)
) WITH (fillfactor = 50);
COMMENT ON TABLE readers IS 'Positions of the journal''s readers. Written by the readers.';
COMMENT ON COLUMN readers.name IS 'Name of the reader: an outbound sink, webhooks, a projection. Written once at its first run.';
COMMENT ON COLUMN readers.generation IS 'Generation; a rebuild has a new one and never sends or publishes. Written once with the row.';
COMMENT ON COLUMN readers.owner IS 'Process that reads. Written when it takes the lease.';
COMMENT ON COLUMN readers.lease_ends_at IS 'Until when the owner may read, database time. Written with owner and at renewal.';
COMMENT ON COLUMN readers.cursor IS 'Every position up to here is done. Written after each batch.';
COMMENT ON COLUMN readers.updated_at IS 'Database time of the last change. Written with cursor.';

CREATE TABLE journal_anchors (
  upto_pos bigint,
  rows bigint NOT NULL,
  hash bytea NOT NULL,
  signature bytea,
  at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT journal_anchors_pk PRIMARY KEY (upto_pos)
);
COMMENT ON TABLE journal_anchors IS 'Signed digests of journal ranges, also stored outside of the database. Append-only. Written by the anchoring of one replica at a time.';
COMMENT ON COLUMN journal_anchors.upto_pos IS 'Last position that the anchor covers. Written once with the row.';
COMMENT ON COLUMN journal_anchors.rows IS 'Number of journal rows since the previous anchor. Written once with the row.';
COMMENT ON COLUMN journal_anchors.hash IS 'SHA-256 over them and the previous anchor. Written once with the row.';
COMMENT ON COLUMN journal_anchors.signature IS 'Signature over hash, null where no key is configured. Written once with the row.';
COMMENT ON COLUMN journal_anchors.at IS 'Database time of the insert. Written once with the row.';

CREATE TABLE cases (
  tenant_id bigint NOT NULL,
  case_id uuid NOT NULL,
  rid uuid,
  payment_id text COLLATE "C",
  reasons text[] NOT NULL,
  evidence jsonb NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT now(),
  closed_at timestamptz,
  closed_how text COLLATE "C",
  CONSTRAINT cases_pk PRIMARY KEY (tenant_id, case_id),
  CONSTRAINT cases_subject_ck CHECK (num_nonnulls(rid, payment_id) >= 1),
  CONSTRAINT cases_reasons_ck CHECK (array_position(reasons, NULL) IS NULL AND (closed_at IS NOT NULL OR cardinality(reasons) > 0)),
  CONSTRAINT cases_closed_ck CHECK ((closed_at IS NULL) = (closed_how IS NULL))
);
CREATE UNIQUE INDEX cases_one_open_uq ON cases (tenant_id, rid) WHERE closed_at IS NULL AND rid IS NOT NULL;
CREATE UNIQUE INDEX cases_one_open_payment_uq ON cases (tenant_id, payment_id) WHERE closed_at IS NULL AND rid IS NULL;
CREATE INDEX cases_open_ix ON cases (tenant_id, opened_at) WHERE closed_at IS NULL;
ALTER TABLE refunds ADD CONSTRAINT refunds_case_fk FOREIGN KEY (tenant_id, case_id) REFERENCES cases;
COMMENT ON INDEX cases_one_open_uq IS 'At most one open case per refund.';
COMMENT ON INDEX cases_one_open_payment_uq IS 'At most one open case about a payment, besides those of its refunds.';
COMMENT ON INDEX cases_open_ix IS 'The list of open cases, oldest first.';
CREATE INDEX cases_refund_ix ON cases (tenant_id, rid) WHERE rid IS NOT NULL;
COMMENT ON INDEX cases_refund_ix IS 'Read by verify and export, which need closed cases of a refund.';
COMMENT ON TABLE cases IS 'Refunds and payments that need a person''s decision, independent of their state. Never deleted. Opened by enter, sweep and epoch, closed by enter and people.';
COMMENT ON COLUMN cases.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN cases.case_id IS 'uuid v7. Written once with the row.';
COMMENT ON COLUMN cases.rid IS 'The refund, null for a case about a payment. Written once with the row.';
COMMENT ON COLUMN cases.payment_id IS 'The payment. Written once with the row.';
COMMENT ON COLUMN cases.reasons IS 'Set of reasons: a fact adds or removes only its own reason; empty if and only if closed. Written by enter, sweep and people.';
COMMENT ON COLUMN cases.evidence IS 'The evidence when the case was opened. Written by enter and sweep.';
COMMENT ON COLUMN cases.opened_at IS 'Database time of the insert. Written once with the row.';
COMMENT ON COLUMN cases.closed_at IS 'Database time of closing, null while open; a closed case is never reopened. Written by enter and people.';
COMMENT ON COLUMN cases.closed_how IS 'The fact or the decision that closed it. Written with closed_at.';

CREATE TABLE decisions (
  tenant_id bigint NOT NULL,
  decision_id uuid NOT NULL,
  case_id uuid NOT NULL,
  action text COLLATE "C" NOT NULL,
  journal_seq int,
  excess bigint,
  effect_id uuid,
  evidence text NOT NULL,
  maker bigint NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  checker bigint,
  checked_at timestamptz,
  verdict text COLLATE "C",
  applied_at timestamptz,
  CONSTRAINT decisions_pk PRIMARY KEY (tenant_id, decision_id),
  CONSTRAINT decisions_action_ck CHECK (action IN ('confirm-success','confirm-not-done','resend','wait','accept-as-is','revoke-confirmation')),
  CONSTRAINT decisions_evidence_ck CHECK (length(btrim(evidence)) >= 8),
  CONSTRAINT decisions_verdict_ck CHECK (verdict IN ('APPROVED','REJECTED','EXPIRED','VOID')),
  CONSTRAINT decisions_applied_ck CHECK (applied_at IS NULL OR verdict IS NOT DISTINCT FROM 'APPROVED'),
  CONSTRAINT decisions_four_eyes_ck CHECK (checker IS NULL OR checker <> maker),
  CONSTRAINT decisions_verdict_both_ck CHECK ((verdict IS NULL) = (checked_at IS NULL)
    AND (verdict IS DISTINCT FROM 'APPROVED' OR (checker IS NOT NULL AND checked_at <= expires_at))),
  CONSTRAINT decisions_case_fk FOREIGN KEY (tenant_id, case_id) REFERENCES cases,
  CONSTRAINT decisions_maker_fk FOREIGN KEY (tenant_id, maker) REFERENCES actors,
  CONSTRAINT decisions_checker_fk FOREIGN KEY (tenant_id, checker) REFERENCES actors
);
CREATE UNIQUE INDEX decisions_one_approved_uq ON decisions (tenant_id, case_id) WHERE verdict = 'APPROVED' AND action <> 'wait' AND applied_at IS NULL;
CREATE UNIQUE INDEX decisions_one_pending_uq ON decisions (tenant_id, case_id) WHERE verdict IS NULL;
ALTER TABLE dispatches ADD CONSTRAINT dispatches_override_fk FOREIGN KEY (tenant_id, overridden_by) REFERENCES decisions;
ALTER TABLE retired_dispatches ADD CONSTRAINT retired_dispatches_decision_fk FOREIGN KEY (tenant_id, decision_id) REFERENCES decisions;
COMMENT ON INDEX decisions_one_approved_uq IS 'At most one approved decision of a case waits to take effect.';
COMMENT ON INDEX decisions_one_pending_uq IS 'At most one proposal of a case is open.';
COMMENT ON TABLE decisions IS 'Decisions that one actor proposes and another approves. A decision takes effect when no earlier request can still be carried out. Written by people; voided by enter.';
COMMENT ON COLUMN decisions.tenant_id IS 'Tenant. Written once by people.';
COMMENT ON COLUMN decisions.decision_id IS 'uuid v7. Written once by people.';
COMMENT ON COLUMN decisions.case_id IS 'The case. Written once by people.';
COMMENT ON COLUMN decisions.action IS 'The action, as the API spells it. Written once by people.';
COMMENT ON COLUMN decisions.journal_seq IS 'The refund''s journal_seq of the proposal: a later journal row voids it. Written once by people.';
COMMENT ON COLUMN decisions.excess IS 'The excess of the proposal, for a case about a payment. Written once by people.';
COMMENT ON COLUMN decisions.effect_id IS 'The held line that becomes the refund''s own, if any. Written once by people.';
COMMENT ON COLUMN decisions.evidence IS 'The reason: a text or a reference, 8 characters or more. Written once by people.';
COMMENT ON COLUMN decisions.maker IS 'Actor who proposed it. Written once by people.';
COMMENT ON COLUMN decisions.made_at IS 'Database time of the proposal. Written once by people.';
COMMENT ON COLUMN decisions.expires_at IS 'Until when it can be approved. Written once by people.';
COMMENT ON COLUMN decisions.checker IS 'Actor who approved or rejected it, never the maker; null when it expired or was voided. Written with verdict.';
COMMENT ON COLUMN decisions.checked_at IS 'Database time of the verdict. Written with verdict.';
COMMENT ON COLUMN decisions.verdict IS 'The verdict, null while proposed. Written once by people, sweep (EXPIRED) or enter (VOID); an approved decision may become VOID until it is applied.';
COMMENT ON COLUMN decisions.applied_at IS 'Database time when it took effect. Written once by sweep or people.';
