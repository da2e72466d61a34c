-- A number gets a final negative status that the channel did not report. Found by: check P8 number-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE dispatches SET final_negative_at=now() WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
