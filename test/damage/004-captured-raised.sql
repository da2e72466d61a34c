-- The captured amount of a payment known by snapshot is raised. Found by: check P3 payment-snapshot.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE payments SET captured = captured*100 WHERE payment_id='pay_success_0';
