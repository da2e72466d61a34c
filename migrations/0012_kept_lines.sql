-- +goose Up
CREATE TABLE kept_lines (
  tenant_id bigint NOT NULL,
  payment_id text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  complete boolean NOT NULL,
  lines jsonb NOT NULL,
  why text NOT NULL,
  kept_at timestamptz NOT NULL DEFAULT now(),
  tried_at timestamptz NOT NULL DEFAULT now(),
  tries int NOT NULL DEFAULT 1,
  CONSTRAINT kept_lines_pk PRIMARY KEY (tenant_id, payment_id),
  CONSTRAINT kept_lines_payment_fk FOREIGN KEY (tenant_id, payment_id) REFERENCES payments
);
CREATE INDEX kept_lines_due_ix ON kept_lines (tried_at);
COMMENT ON TABLE kept_lines IS 'Lines of a payment''s list that a guard refused. The newest list of a payment replaces the one before. Deleted when they are entered.';
COMMENT ON INDEX kept_lines_due_ix IS 'Read by the sweep, which tries them again.';
COMMENT ON COLUMN kept_lines.tenant_id IS 'Tenant. Written once with the row.';
COMMENT ON COLUMN kept_lines.payment_id IS 'The payment whose list it was. Written once with the row.';
COMMENT ON COLUMN kept_lines.source IS 'list or settlement. Written by enter.';
COMMENT ON COLUMN kept_lines.complete IS 'Whether the list was complete. Written by enter.';
COMMENT ON COLUMN kept_lines.lines IS 'The lines as the channel gave them. Written by enter.';
COMMENT ON COLUMN kept_lines.why IS 'The guard that refused them. Written by enter and sweep.';
COMMENT ON COLUMN kept_lines.kept_at IS 'Database time at which the list was kept. Written by enter.';
COMMENT ON COLUMN kept_lines.tried_at IS 'Database time of the last try. Written by enter and sweep.';
COMMENT ON COLUMN kept_lines.tries IS 'Tries so far. Written by enter and sweep.';
