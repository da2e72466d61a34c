-- An effect of no refund is deleted with posting and history, and the balance lowered: money that moved vanishes. Found by: signature of success_0.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM postings WHERE effect_id IN (SELECT effect_id FROM effects WHERE channel_refund_id='fx_foreign');
DELETE FROM effect_events WHERE effect_id IN (SELECT effect_id FROM effects WHERE channel_refund_id='fx_foreign');
DELETE FROM effects WHERE channel_refund_id='fx_foreign';
UPDATE payments SET refunded=refunded-70 WHERE payment_id='pay_success_0';
