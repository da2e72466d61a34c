-- An UNKNOWN answer becomes NOT_SENT, the refund PENDING and not exposed. Found by: check P7 state-fold.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET answer='NOT_SENT' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
UPDATE dispatches SET exposed=false WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
UPDATE refunds SET exposed=false, state='PENDING' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
