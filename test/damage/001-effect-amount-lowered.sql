-- An effect of 100 becomes 50, with its posting and the balance. Found by: check P8 effect-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE postings SET amount = 50 WHERE effect_id = (SELECT effect_id FROM effects WHERE channel_refund_id='ch_success');
UPDATE effects SET amount=50, counted=50 WHERE channel_refund_id='ch_success';
UPDATE payments SET refunded = refunded-50 WHERE payment_id='pay_success_0';
