-- Bytes and content of a matched notice are replaced. Found by: check P8 notice-unreported.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE notices SET body='forged', fact='{"status":"FAILED_FINAL"}' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'noticed_0');
