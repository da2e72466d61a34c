-- A number is overridden by the decision about another refund. Found by: check P8 override-unproven.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE dispatches SET overridden_by=(SELECT decision_id FROM decisions d JOIN cases c USING (tenant_id,case_id) WHERE c.rid=(SELECT rid FROM refunds WHERE refund_id = 'confirmed_0') LIMIT 1) WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'notdone_0');
