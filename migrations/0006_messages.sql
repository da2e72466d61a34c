-- +goose Up
CREATE TABLE notices (
  account text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  number text COLLATE "C",
  channel_refund_id text COLLATE "C",
  tenant_id bigint,
  rid uuid,
  headers jsonb NOT NULL,
  body bytea NOT NULL,
  fact jsonb NOT NULL DEFAULT '{}',
  times_seen int NOT NULL DEFAULT 1,
  at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT notices_pk PRIMARY KEY (account, digest),
  CONSTRAINT notices_digest_ck CHECK (octet_length(digest) = 32)
);
CREATE INDEX notices_unmatched_number_ix ON notices (account, number) WHERE rid IS NULL AND number IS NOT NULL;
CREATE INDEX notices_unmatched_ix ON notices (account, channel_refund_id) WHERE rid IS NULL;
COMMENT ON INDEX notices_unmatched_number_ix IS 'Read when a dispatch is inserted.';
COMMENT ON INDEX notices_unmatched_ix IS 'Read when a channel refund id is stored.';
COMMENT ON TABLE notices IS 'Raw notices of channels, acknowledged only after COMMIT. Written by the notice endpoint; matched by the endpoint or later by enter.';
COMMENT ON COLUMN notices.account IS 'Account whose endpoint was called. Written once with the row.';
COMMENT ON COLUMN notices.digest IS 'SHA-256 of the signed content; a repeat increases times_seen. Written once with the row.';
COMMENT ON COLUMN notices.number IS 'Dispatch number in the notice. Written once with the row.';
COMMENT ON COLUMN notices.channel_refund_id IS 'Channel refund id in the notice. Written once with the row.';
COMMENT ON COLUMN notices.tenant_id IS 'Tenant of the refund that it was matched to. Written by enter.';
COMMENT ON COLUMN notices.rid IS 'Refund that it was matched to, null until then. Written by enter.';
COMMENT ON COLUMN notices.headers IS 'Headers without secrets. Written once with the row.';
COMMENT ON COLUMN notices.body IS 'The signed bytes. Written once with the row; archived by rules of their own.';
COMMENT ON COLUMN notices.fact IS 'Content of the notice, decoded when its signature was checked; {} when it cannot be decoded. A later match uses it and needs neither old secrets nor old decoders. Written once with the row.';
COMMENT ON COLUMN notices.times_seen IS 'Number of times it was received. Increased by the notice endpoint.';
COMMENT ON COLUMN notices.at IS 'Database time of the first one. Written once with the row.';

CREATE TABLE deliveries (
  day date NOT NULL,
  tenant_id bigint NOT NULL,
  delivery_id uuid NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  source text COLLATE "C",
  event_id text COLLATE "C",
  transport text NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  cause text COLLATE "C",
  rid uuid,
  replay_batch uuid,
  at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT deliveries_pk PRIMARY KEY (tenant_id, delivery_id, day)
) PARTITION BY RANGE (day);
CREATE INDEX deliveries_event_ix ON deliveries (tenant_id, consumer, event_id, delivery_id) WHERE event_id IS NOT NULL;
COMMENT ON INDEX deliveries_event_ix IS 'Read by the message trace: all deliveries of an event, and the last one.';
COMMENT ON TABLE deliveries IS 'Trace of messages: one row for each delivery. A lost row is a gap in the trace and loses no refund. Partitions are dropped after retention. Written by bridges after COMMIT.';
COMMENT ON COLUMN deliveries.day IS 'Day (UTC) of the delivery: the partition key. Written once by a bridge.';
COMMENT ON COLUMN deliveries.tenant_id IS 'Tenant, 0 when not known. Written once by a bridge.';
COMMENT ON COLUMN deliveries.delivery_id IS 'uuid v7. Written once by a bridge.';
COMMENT ON COLUMN deliveries.consumer IS 'The bridge''s name in the configuration. Written once by a bridge.';
COMMENT ON COLUMN deliveries.source IS 'CloudEvents source, null when it cannot be read. Written once by a bridge.';
COMMENT ON COLUMN deliveries.event_id IS 'CloudEvents id, null when it cannot be read. Written once by a bridge.';
COMMENT ON COLUMN deliveries.transport IS 'Transport id, such as topic, partition and offset. Written once by a bridge.';
COMMENT ON COLUMN deliveries.outcome IS 'The decision about the delivery, or PARKED. Written once by a bridge.';
COMMENT ON COLUMN deliveries.cause IS 'Why it was a repeat, or the code of a refusal. Written once by a bridge.';
COMMENT ON COLUMN deliveries.rid IS 'The refund that the message is about. Written once by a bridge.';
COMMENT ON COLUMN deliveries.replay_batch IS 'The replay that delivered it, null otherwise. Written once by a bridge.';
COMMENT ON COLUMN deliveries.at IS 'Database time of the insert. Written once by a bridge.';
CREATE TABLE deliveries_default (
  LIKE deliveries INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS,
  CONSTRAINT deliveries_default_pk PRIMARY KEY (tenant_id, delivery_id, day)
);
COMMENT ON TABLE deliveries_default IS 'Deliveries of days without a partition. A row here prevents the partition of its day. Written by bridges.';
ALTER TABLE deliveries ATTACH PARTITION deliveries_default DEFAULT;

CREATE TABLE parked (
  tenant_id bigint NOT NULL,
  parked_id uuid NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  source text COLLATE "C",
  event_id text COLLATE "C",
  position text NOT NULL,
  headers jsonb NOT NULL,
  body bytea NOT NULL,
  reason text COLLATE "C" NOT NULL,
  wake_payment text COLLATE "C",
  alarm_at timestamptz,
  tries int NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  done_at timestamptz,
  done_how text COLLATE "C",
  done_by text,
  CONSTRAINT parked_pk PRIMARY KEY (tenant_id, parked_id),
  CONSTRAINT parked_position_uq UNIQUE (tenant_id, consumer, position)
);
CREATE INDEX parked_open_ix ON parked (tenant_id, at) WHERE done_at IS NULL;
CREATE INDEX parked_waiting_ix ON parked (tenant_id, wake_payment) WHERE done_at IS NULL AND wake_payment IS NOT NULL;
COMMENT ON INDEX parked_open_ix IS 'List of open parked messages, oldest first.';
COMMENT ON INDEX parked_waiting_ix IS 'Messages that wait for a payment; read when it is announced.';
COMMENT ON TABLE parked IS 'Messages that could not be decided, were refused, conflict, or wait for a payment. Written by accept and bridges; settled by sweep and people.';
COMMENT ON COLUMN parked.tenant_id IS 'Tenant, 0 when not known. Written once with the row.';
COMMENT ON COLUMN parked.parked_id IS 'uuid v7. Written once with the row.';
COMMENT ON COLUMN parked.consumer IS 'Consumer of the message. Written once with the row.';
COMMENT ON COLUMN parked.source IS 'CloudEvents source, null when it cannot be read. Written once with the row.';
COMMENT ON COLUMN parked.event_id IS 'CloudEvents id, null when it cannot be read. Written once with the row.';
COMMENT ON COLUMN parked.position IS 'Position at the transport with a digest of the bytes, or a digest alone: each position is parked once. Written once with the row.';
COMMENT ON COLUMN parked.headers IS 'Headers without secrets. Written once with the row.';
COMMENT ON COLUMN parked.body IS 'The received bytes. Written once with the row; archived by rules of their own.';
COMMENT ON COLUMN parked.reason IS 'Why it is parked: a problem code or a reason of its own. Written with the row and by a redrive.';
COMMENT ON COLUMN parked.wake_payment IS 'Payment that it waits for, null otherwise. Written once with the row.';
COMMENT ON COLUMN parked.alarm_at IS 'From when waiting for the payment is an alarm. Written with the row.';
COMMENT ON COLUMN parked.tries IS 'Number of deliveries and tries. Increased by accept and sweep.';
COMMENT ON COLUMN parked.at IS 'Database time of the insert. Written once with the row.';
COMMENT ON COLUMN parked.done_at IS 'Database time when it was settled, null until then. Written by sweep and people.';
COMMENT ON COLUMN parked.done_how IS 'How it was settled: accepted, replayed or discarded. Written with done_at.';
COMMENT ON COLUMN parked.done_by IS 'actor:<name> or system:<role>. Written with done_at.';
