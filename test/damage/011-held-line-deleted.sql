-- A held line is deleted, with the balance. Found by: check P8 line-missing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM effect_events WHERE effect_id IN (SELECT effect_id FROM effects WHERE channel_refund_id='fx_held');
DELETE FROM effects WHERE channel_refund_id='fx_held';
UPDATE payments SET held=0 WHERE payment_id='pay_held_0';
