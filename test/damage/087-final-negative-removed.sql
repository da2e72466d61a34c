-- The final negative status of a number is removed. Found by: check P8 number-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE dispatches SET final_negative_at=NULL WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'taken_0');
