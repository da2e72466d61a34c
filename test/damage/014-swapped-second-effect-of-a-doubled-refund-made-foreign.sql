-- Swapped: second effect of a doubled refund made foreign (hidden, sums equal). Found by: check P8 effect-missing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE effects SET rid=NULL, dispatch_no=NULL WHERE channel_refund_id='ch_doubled_again';
