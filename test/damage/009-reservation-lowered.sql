-- The reservation of an open refund is lowered. Found by: check P3 reserved.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE payments SET reserved = reserved-50 WHERE payment_id='pay_pending_0';
