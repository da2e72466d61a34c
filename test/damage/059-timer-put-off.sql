-- The timer of a refund under a case is put off for ten years. Found by: check P4 timer-far.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE refunds SET next_action_at=now()+interval '10 years' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'late_0');
