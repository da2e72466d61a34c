-- An attempt moves to another number of its refund. Found by: check P10 claim-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET dispatch_no=2 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'resent_0') AND no=1;
