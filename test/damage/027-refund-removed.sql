-- A refund is removed with all its rows and balances. Found by: check P7 anchor-hash.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM journal WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'failed_0');
DELETE FROM attempts WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'failed_0');
DELETE FROM dispatches WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'failed_0');
DELETE FROM receipts WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'failed_0');
DELETE FROM refund_keys WHERE refund_id='failed_0';
UPDATE payments SET refunds=0,last_rid=NULL WHERE payment_id='pay_failed_0';
DELETE FROM refunds WHERE refund_id='failed_0';
