-- A number gets a channel refund id that nobody reported. Found by: check P8 number-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE dispatches SET channel_refund_id='ch_stranger' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
