-- The digest of a sent request is replaced by one byte. Found by: check P10 request-digest.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET request_digest='\x00' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
