-- The answers of two refunds' attempts are exchanged. Found by: check P8 answer-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET answer=CASE WHEN rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0') THEN 'REFUSED' ELSE 'SUCCEEDED' END WHERE rid IN ((SELECT rid FROM refunds WHERE refund_id = 'success_0'),(SELECT rid FROM refunds WHERE refund_id = 'failed_0'));
