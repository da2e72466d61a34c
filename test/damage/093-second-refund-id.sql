-- A second refund id leads to a refund. Found by: check P5 key-of-other-id.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
INSERT INTO refund_keys SELECT tenant_id,'ghost',rid FROM refunds WHERE refund_id='success_0';
