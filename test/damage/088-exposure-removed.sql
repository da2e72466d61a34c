-- The exposure of an acknowledged number is removed. Found by: check P8 clear-without-proof.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE dispatches SET exposed=false WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'accepted_0');
