-- +goose Up
CREATE TABLE receipts (
  tenant_id bigint NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  month date NOT NULL DEFAULT date_trunc('month', now() AT TIME ZONE 'UTC')::date,
  type text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  params json NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  rid uuid,
  code text COLLATE "C",
  transport text,
  at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT receipts_pk PRIMARY KEY (tenant_id, consumer, source, event_id, month),
  CONSTRAINT receipts_event_ck CHECK (event_id <> '' AND length(source) + length(event_id) <= 1024),
  CONSTRAINT receipts_digest_ck CHECK (octet_length(digest) = 33),
  CONSTRAINT receipts_outcome_ck CHECK (outcome IN ('TAKEN','REPLAYED','CONFLICT','REFUSED')),
  CONSTRAINT receipts_rid_ck CHECK (type <> 'refund.requested' OR outcome NOT IN ('TAKEN','REPLAYED') OR rid IS NOT NULL),
  CONSTRAINT receipts_code_ck CHECK (outcome NOT IN ('CONFLICT','REFUSED') OR code IS NOT NULL)
) PARTITION BY RANGE (month);
COMMENT ON TABLE receipts IS 'The first decision binds an event id. Partitioned by month and looked up over the whole window (13 months or more), then archived: from there the refund id protects. Written by accept; only a redrive by people changes a row, and only a REFUSED one.';
COMMENT ON COLUMN receipts.tenant_id IS 'Tenant. Written once by accept.';
COMMENT ON COLUMN receipts.consumer IS 'Who consumes the event: rest, events, or a bridge''s name. Written once by accept.';
COMMENT ON COLUMN receipts.source IS 'CloudEvents source, or rest. Written once by accept.';
COMMENT ON COLUMN receipts.event_id IS 'CloudEvents id, or the Idempotency-Key. Written once by accept.';
COMMENT ON COLUMN receipts.month IS 'First day of the month (UTC) of the decision: the partition key. Written once by accept.';
COMMENT ON COLUMN receipts.type IS 'Type of the event, such as refund.requested. Written once by accept.';
COMMENT ON COLUMN receipts.digest IS 'Version byte and SHA-256 of the parameters. Written once by accept.';
COMMENT ON COLUMN receipts.params IS 'The parameters in canonical form: lets a conflict name the fields that differ. Written once by accept.';
COMMENT ON COLUMN receipts.outcome IS 'What was decided. Written by accept; a REFUSED one may be bound again by a redrive of people.';
COMMENT ON COLUMN receipts.rid IS 'The refund that it was decided on. Written with outcome.';
COMMENT ON COLUMN receipts.code IS 'Problem code of a refusal or conflict. Written with outcome.';
COMMENT ON COLUMN receipts.transport IS 'Transport id of the first delivery; evidence only. Written once by accept.';
COMMENT ON COLUMN receipts.at IS 'Database time of the decision. Written once by accept.';
CREATE TABLE receipts_default (
  LIKE receipts INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS,
  CONSTRAINT receipts_default_pk PRIMARY KEY (tenant_id, consumer, source, event_id, month)
);
COMMENT ON TABLE receipts_default IS 'Catches receipts of months without a partition. A row in here keeps its month from being made: an alarm. Written by accept.';
ALTER TABLE receipts ATTACH PARTITION receipts_default DEFAULT;

CREATE TABLE conflicts (
  tenant_id bigint NOT NULL,
  conflict_id uuid NOT NULL,
  kind text COLLATE "C" NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  source text COLLATE "C",
  event_id text COLLATE "C",
  refund_id text COLLATE "C",
  payment_id text COLLATE "C",
  rid uuid,
  got_digest bytea NOT NULL,
  got json NOT NULL,
  fields text[] NOT NULL,
  transport text,
  times int NOT NULL DEFAULT 1,
  at timestamptz NOT NULL DEFAULT now(),
  last_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT conflicts_pk PRIMARY KEY (tenant_id, conflict_id),
  CONSTRAINT conflicts_same_uq UNIQUE NULLS NOT DISTINCT (tenant_id, consumer, source, event_id, refund_id, got_digest),
  CONSTRAINT conflicts_kind_ck CHECK (kind IN ('EVENT_PARAMS','EVENT_OTHER_REFUND','EVENT_OTHER_TYPE','REFUND_PARAMS','PAYMENT_PARAMS'))
);
COMMENT ON TABLE conflicts IS 'Evidence of requests that named a known identity with other parameters; kept although the write was refused. A repeat counts up and adds no row. Written by accept.';
COMMENT ON COLUMN conflicts.tenant_id IS 'Tenant. Written once by accept.';
COMMENT ON COLUMN conflicts.conflict_id IS 'uuid v7. Written once by accept.';
COMMENT ON COLUMN conflicts.kind IS 'Which identity was contradicted. Written once by accept.';
COMMENT ON COLUMN conflicts.consumer IS 'Who brought it. Written once by accept.';
COMMENT ON COLUMN conflicts.source IS 'Source of the event, if it had one. Written once by accept.';
COMMENT ON COLUMN conflicts.event_id IS 'Id of the event, if it had one. Written once by accept.';
COMMENT ON COLUMN conflicts.refund_id IS 'Refund named by the request. Written once by accept.';
COMMENT ON COLUMN conflicts.payment_id IS 'Payment named by the request. Written once by accept.';
COMMENT ON COLUMN conflicts.rid IS 'The refund that the stored decision is about. Written once by accept.';
COMMENT ON COLUMN conflicts.got_digest IS 'SHA-256 over all of got, the inline payment too. Written once by accept.';
COMMENT ON COLUMN conflicts.got IS 'The parameters that came. Written once by accept.';
COMMENT ON COLUMN conflicts.fields IS 'Names of the fields that differ. Written once by accept.';
COMMENT ON COLUMN conflicts.transport IS 'Transport id of the first such delivery. Written once by accept.';
COMMENT ON COLUMN conflicts.times IS 'How often the same conflict came. Counted up by accept.';
COMMENT ON COLUMN conflicts.at IS 'Database time of the first one. Written once by accept.';
COMMENT ON COLUMN conflicts.last_at IS 'Database time of the newest one. Written by accept.';
