-- A SUCCESS becomes REVERSED with a mirror posting, and the balance is lowered. Found by: check P7 state-fold.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE effects SET status='REVERSED', reversed_at=now() WHERE channel_refund_id='ch_success';
INSERT INTO postings SELECT tenant_id,effect_id,'REVERSAL',credit,debit,amount,currency FROM postings WHERE effect_id=(SELECT effect_id FROM effects WHERE channel_refund_id='ch_success');
UPDATE refunds SET state='REVERSED' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
UPDATE payments SET refunded=refunded-100 WHERE payment_id='pay_success_0';
