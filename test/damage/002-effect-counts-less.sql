-- An effect of 100 counts 1, with the balance: the money can be refunded again. Found by: check P8 effect-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE effects SET counted=1 WHERE channel_refund_id='ch_success';
UPDATE payments SET refunded = refunded-99 WHERE payment_id='pay_success_0';
