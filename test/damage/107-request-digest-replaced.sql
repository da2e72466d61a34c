-- The digest of a sent request is replaced by another one. Found by: signature of success_0.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET request_digest=sha256('x') WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
