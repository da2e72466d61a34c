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
COMMENT ON INDEX notices_unmatched_number_ix IS 'Looked through when a dispatch with such a number is made.';
COMMENT ON INDEX notices_unmatched_ix IS 'Looked through when a channel refund id is stored.';
COMMENT ON TABLE notices IS 'Raw notices of channels, acknowledged only after COMMIT. Written by the notice endpoint; matched by it or later by enter.';
COMMENT ON COLUMN notices.account IS 'Account whose endpoint was called. Written once with the row.';
COMMENT ON COLUMN notices.digest IS 'SHA-256 of the signed content: a repeat counts up. Written once with the row.';
COMMENT ON COLUMN notices.number IS 'Dispatch number named in it. Written once with the row.';
COMMENT ON COLUMN notices.channel_refund_id IS 'Channel refund id named in it. Written once with the row.';
COMMENT ON COLUMN notices.tenant_id IS 'Tenant of the refund that it was matched to. Written by enter.';
COMMENT ON COLUMN notices.rid IS 'Refund that it was matched to, null until then. Written by enter.';
COMMENT ON COLUMN notices.headers IS 'Headers without secrets. Written once with the row.';
COMMENT ON COLUMN notices.body IS 'The bytes that were signed. Written once with the row; archived by its own rules.';
COMMENT ON COLUMN notices.fact IS 'What it says of the refund, as read when its signature was checked; {} = not to be read. A later match uses it, so neither old secrets nor old readers are needed then. Written once with the row.';
COMMENT ON COLUMN notices.times_seen IS 'How often it came. Counted up by the notice endpoint.';
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
COMMENT ON INDEX deliveries_event_ix IS 'All deliveries of one event, and whether a delivery is its last one: the message trace.';
COMMENT ON TABLE deliveries IS 'Trace of messages: one row per delivery seen, written by bridges after COMMIT. Losing a row loses trace, never a refund. Partitions are dropped after retention.';
COMMENT ON COLUMN deliveries.day IS 'Day (UTC) of the delivery: the partition key. Written once by a bridge.';
COMMENT ON COLUMN deliveries.tenant_id IS 'Tenant, 0 when not known. Written once by a bridge.';
COMMENT ON COLUMN deliveries.delivery_id IS 'uuid v7. Written once by a bridge.';
COMMENT ON COLUMN deliveries.consumer IS 'The bridge''s name in the configuration. Written once by a bridge.';
COMMENT ON COLUMN deliveries.source IS 'CloudEvents source, if it could be read. Written once by a bridge.';
COMMENT ON COLUMN deliveries.event_id IS 'CloudEvents id, if it could be read. Written once by a bridge.';
COMMENT ON COLUMN deliveries.transport IS 'Transport id, such as topic, partition and offset. Written once by a bridge.';
COMMENT ON COLUMN deliveries.outcome IS 'What the door said. Written once by a bridge.';
COMMENT ON COLUMN deliveries.cause IS 'Why it was a repeat, or the code of a refusal. Written once by a bridge.';
COMMENT ON COLUMN deliveries.rid IS 'The refund that it led to. Written once by a bridge.';
COMMENT ON COLUMN deliveries.replay_batch IS 'The replay that sent it, null otherwise. Written once by a bridge.';
COMMENT ON COLUMN deliveries.at IS 'Database time of the insert. Written once by a bridge.';
CREATE TABLE deliveries_default (
  LIKE deliveries INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS,
  CONSTRAINT deliveries_default_pk PRIMARY KEY (tenant_id, delivery_id, day)
);
COMMENT ON TABLE deliveries_default IS 'Catches deliveries of days without a partition. A row in here keeps its day from being made. Written by bridges.';
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
COMMENT ON INDEX parked_open_ix IS 'The parking lot, oldest first.';
COMMENT ON INDEX parked_waiting_ix IS 'What waits for a payment, looked through when it becomes known.';
COMMENT ON TABLE parked IS 'Messages that could not be decided, were refused, conflict, or wait for a payment. Written by accept and bridges; done by sweep and people.';
COMMENT ON COLUMN parked.tenant_id IS 'Tenant, 0 when not known. Written once with the row.';
COMMENT ON COLUMN parked.parked_id IS 'uuid v7. Written once with the row.';
COMMENT ON COLUMN parked.consumer IS 'Who brought it. Written once with the row.';
COMMENT ON COLUMN parked.source IS 'CloudEvents source, if it could be read. Written once with the row.';
COMMENT ON COLUMN parked.event_id IS 'CloudEvents id, if it could be read. Written once with the row.';
COMMENT ON COLUMN parked.position IS 'Its position at the transport, or a digest of it: one position is parked once. Written once with the row.';
COMMENT ON COLUMN parked.headers IS 'Headers without secrets. Written once with the row.';
COMMENT ON COLUMN parked.body IS 'The bytes as they came. Written once with the row; archived by its own rules.';
COMMENT ON COLUMN parked.reason IS 'Why it is here: a problem code. Written with the row, again by a redrive.';
COMMENT ON COLUMN parked.wake_payment IS 'Payment that it waits for, null otherwise. Written once with the row.';
COMMENT ON COLUMN parked.alarm_at IS 'From when waiting is an alarm. Written with the row.';
COMMENT ON COLUMN parked.tries IS 'How often it came or was tried. Counted up by accept and sweep.';
COMMENT ON COLUMN parked.at IS 'Database time of the insert. Written once with the row.';
COMMENT ON COLUMN parked.done_at IS 'Database time when it was dealt with, null until then. Written by sweep and people.';
COMMENT ON COLUMN parked.done_how IS 'Accepted, discarded and so on. Written with done_at.';
COMMENT ON COLUMN parked.done_by IS 'actor:<name> or system:<role>. Written with done_at.';
