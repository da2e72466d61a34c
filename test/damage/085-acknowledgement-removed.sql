-- The acknowledgement of a number is removed: an absence may count. Found by: check P8 number-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE dispatches SET acknowledged=false WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'accepted_0');
