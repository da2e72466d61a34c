-- A held line is dropped without a history, with the balance. Found by: check P8 line-history.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE effects SET status='DROPPED', covered_by=NULL WHERE channel_refund_id='fx_held';
UPDATE payments SET held=0 WHERE payment_id='pay_held_0';
