-- The account of a payment, its refund and number changes. Found by: check P3 payment-snapshot.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
INSERT INTO accounts(account,adapter) VALUES ('evil','plain');
INSERT INTO contracts SELECT 'evil',version,contract,digest FROM contracts;
UPDATE refunds SET account='evil' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'pending_0');
UPDATE payments SET account='evil' WHERE payment_id='pay_pending_0';
UPDATE dispatches SET account='evil' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'pending_0');
