-- Two attempts exchange their ordinals. Found by: check P10 attempt-order.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET no=-no WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'resent_0');
UPDATE attempts SET no=CASE no WHEN -1 THEN 2 WHEN -2 THEN 1 ELSE -no END WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'resent_0');
