-- +goose Up
CREATE INDEX cases_refund_ix ON cases (tenant_id, rid) WHERE rid IS NOT NULL;
COMMENT ON INDEX cases_refund_ix IS 'Verify and export read closed cases by refund, too.';
