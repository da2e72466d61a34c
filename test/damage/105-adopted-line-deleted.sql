-- A line that was held and then given to a refund is deleted with history and posting. Found by: check P8 line-missing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM postings WHERE effect_id IN (SELECT effect_id FROM effects WHERE channel_refund_id = 'fx_adopted');
DELETE FROM effect_events WHERE effect_id IN (SELECT effect_id FROM effects WHERE channel_refund_id = 'fx_adopted');
UPDATE payments SET refunded = refunded - 100 WHERE payment_id = 'pay_adopted_0' AND EXISTS (SELECT FROM effects WHERE channel_refund_id = 'fx_adopted' AND status = 'MOVED');
DELETE FROM effects WHERE channel_refund_id = 'fx_adopted';
