-- What was refunded elsewhere and what was captured are raised alike. Found by: check P3 payment-snapshot.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE payments SET refunded_elsewhere=500, captured=captured+500 WHERE payment_id='pay_success_0';
