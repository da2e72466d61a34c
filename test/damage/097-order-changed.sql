-- The order of a payment and its refund changes. Found by: check P6 refund-digest.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE payments SET order_id='ord_x' WHERE payment_id='pay_success_0';
UPDATE refunds SET order_id='ord_x' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
