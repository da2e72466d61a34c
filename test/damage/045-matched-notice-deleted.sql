-- A matched notice is deleted. Found by: check P8 notice-missing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM notices WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'noticed_0');
