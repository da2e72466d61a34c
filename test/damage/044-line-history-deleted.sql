-- The history of the lines is deleted. Found by: check P8 line-history.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE refunds SET attempt_no=attempt_no WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
DELETE FROM effect_events;
