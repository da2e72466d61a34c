-- The second effect of a refund is given to another refund, with both balances. Found by: check P1 effects-per-refund.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE effects SET rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0'), payment_id='pay_success_0' WHERE channel_refund_id='ch_doubled_again';
UPDATE payments SET refunded=refunded-100 WHERE payment_id='pay_doubled_0';
UPDATE payments SET refunded=refunded+100 WHERE payment_id='pay_success_0';
