-- The failure of a refund changes. Found by: check P8 failure-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE refunds SET failure_code='made-up', failure_channel_code='x' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'failed_0');
