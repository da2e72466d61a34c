-- The key of a number expires ten years later. Found by: check P8 number-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE dispatches SET key_expires_at=now()+interval '10 years' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
