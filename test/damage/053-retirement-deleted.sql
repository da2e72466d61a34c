-- The retirement of a number with a successor is deleted. Found by: check P8 not-retired.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM retired_dispatches WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'renumbered_0');
