-- The absence that a resend was based on becomes UNKNOWN. Found by: check P8 answer-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET answer='UNKNOWN' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'resent_0') AND answer='NOT_FOUND';
