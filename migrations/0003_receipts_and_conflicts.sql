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
COMMENT ON TABLE receipts IS 'The first decision about an event id, which binds its repeats. Partitioned by month; kept for the whole window (13 months or more), then archived. After that the refund id detects repeats. Written by accept; only a redrive by people changes a row, and only a REFUSED one.';
COMMENT ON COLUMN receipts.tenant_id IS 'Tenant. Written once by accept.';
COMMENT ON COLUMN receipts.consumer IS 'Consumer of the event: rest, events, or the name of a bridge. Written once by accept.';
COMMENT ON COLUMN receipts.source IS 'CloudEvents source, or rest. Written once by accept.';
COMMENT ON COLUMN receipts.event_id IS 'CloudEvents id, or the Idempotency-Key. Written once by accept.';
COMMENT ON COLUMN receipts.month IS 'First day of the month (UTC) of the decision: the partition key. Written once by accept.';
COMMENT ON COLUMN receipts.type IS 'Type of the event, such as refund.requested. Written once by accept.';
COMMENT ON COLUMN receipts.digest IS 'Version byte and SHA-256 of the parameters. Written once by accept.';
COMMENT ON COLUMN receipts.params IS 'The parameters in canonical form, from which a conflict names the fields that differ. Written once by accept.';
COMMENT ON COLUMN receipts.outcome IS 'The decision. Written by accept; a redrive by people may replace REFUSED.';
COMMENT ON COLUMN receipts.rid IS 'The refund of the decision. Written with outcome.';
COMMENT ON COLUMN receipts.code IS 'Problem code of a refusal or conflict. Written with outcome.';
COMMENT ON COLUMN receipts.transport IS 'Transport id of the first delivery; evidence only. Written once by accept.';
COMMENT ON COLUMN receipts.at IS 'Database time of the decision. Written once by accept.';
CREATE TABLE receipts_default (
  LIKE receipts INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS,
  CONSTRAINT receipts_default_pk PRIMARY KEY (tenant_id, consumer, source, event_id, month)
);
COMMENT ON TABLE receipts_default IS 'Receipts of months without a partition. A row here prevents the partition of its month, and is an alarm. Written by accept.';
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
COMMENT ON TABLE conflicts IS 'Evidence of requests with a known identity and other parameters. A repeat increases times and adds no row. Written by accept.';
COMMENT ON COLUMN conflicts.tenant_id IS 'Tenant. Written once by accept.';
COMMENT ON COLUMN conflicts.conflict_id IS 'uuid v7. Written once by accept.';
COMMENT ON COLUMN conflicts.kind IS 'The identity that conflicts. Written once by accept.';
COMMENT ON COLUMN conflicts.consumer IS 'Consumer of the request. Written once by accept.';
COMMENT ON COLUMN conflicts.source IS 'Source of the event, if it had one. Written once by accept.';
COMMENT ON COLUMN conflicts.event_id IS 'Id of the event, if it had one. Written once by accept.';
COMMENT ON COLUMN conflicts.refund_id IS 'Refund id of the request. Written once by accept.';
COMMENT ON COLUMN conflicts.payment_id IS 'Payment id of the request. Written once by accept.';
COMMENT ON COLUMN conflicts.rid IS 'The refund of the stored decision. Written once by accept.';
COMMENT ON COLUMN conflicts.got_digest IS 'SHA-256 over got, with the inline payment. Written once by accept.';
COMMENT ON COLUMN conflicts.got IS 'The parameters of the request. Written once by accept.';
COMMENT ON COLUMN conflicts.fields IS 'Names of the fields that differ. Written once by accept.';
COMMENT ON COLUMN conflicts.transport IS 'Transport id of the first such delivery. Written once by accept.';
COMMENT ON COLUMN conflicts.times IS 'Number of requests with this conflict. Increased by accept.';
COMMENT ON COLUMN conflicts.at IS 'Database time of the first one. Written once by accept.';
COMMENT ON COLUMN conflicts.last_at IS 'Database time of the newest one. Written by accept.';
