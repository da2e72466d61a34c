-- The second effect of a refund is deleted with posting and balance: a double payment is hidden. Found by: check P8 effect-missing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM postings WHERE effect_id IN (SELECT effect_id FROM effects WHERE channel_refund_id='ch_doubled_again');
DELETE FROM effects WHERE channel_refund_id='ch_doubled_again';
UPDATE payments SET refunded=refunded-100 WHERE payment_id='pay_doubled_0';
