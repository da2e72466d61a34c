-- The channel's reference of a payment and its refund changes. Found by: check P3 payment-snapshot.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE payments SET channel_reference='stolen' WHERE payment_id='pay_success_0';
UPDATE refunds SET channel_reference='stolen' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
