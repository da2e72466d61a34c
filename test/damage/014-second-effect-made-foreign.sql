-- The second effect of a refund becomes one of no refund. Found by: check P8 effect-missing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE effects SET rid=NULL, dispatch_no=NULL WHERE channel_refund_id='ch_doubled_again';
