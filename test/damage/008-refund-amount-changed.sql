-- The amount of a refund changes, with the reservation. Found by: check P7 journal-birth.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE refunds SET amount=200 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'pending_0');
UPDATE payments SET reserved=200 WHERE payment_id='pay_pending_0';
