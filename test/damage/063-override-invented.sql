-- A number that may have been executed is overridden without a decision, and exposure ends. Found by: check P8 override-unproven.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE dispatches SET exposed=false, overridden_by=(SELECT decision_id FROM decisions LIMIT 1) WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
