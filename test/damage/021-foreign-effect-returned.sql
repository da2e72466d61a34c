-- An effect of no refund is returned with a mirror posting, and the balance is lowered. Found by: check P8 line-history.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE effects SET status='REVERSED', reversed_at=now() WHERE channel_refund_id='fx_foreign';
INSERT INTO postings SELECT tenant_id,effect_id,'REVERSAL',credit,debit,amount,currency FROM postings WHERE effect_id=(SELECT effect_id FROM effects WHERE channel_refund_id='fx_foreign');
UPDATE payments SET refunded=refunded-70 WHERE payment_id='pay_success_0';
