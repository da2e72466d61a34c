-- The number of decimals of a refund and its payment changes. Found by: check P6 exponent.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE refunds SET exponent=0 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
UPDATE payments SET exponent=0 WHERE payment_id='pay_success_0';
