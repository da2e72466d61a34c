-- A capture and the captured amount are raised together. Found by: check P5 receipt-capture.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE captures SET amount=50000;
UPDATE payments SET captured=50000 WHERE payment_id='pay_cap';
