-- Attempts: answer UNKNOWN of an open refund replaced by NOT_SENT, exposure cleared, PENDING (journal untouched). Found by: check P7 state-fold.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET answer='NOT_SENT' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
UPDATE dispatches SET exposed=false WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
UPDATE refunds SET exposed=false, state='PENDING' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
