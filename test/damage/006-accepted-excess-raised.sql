-- Accepted excess is raised without a decision. Found by: check P3 excess-accepted.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE payments SET excess_accepted=100000 WHERE payment_id='pay_success_0';
