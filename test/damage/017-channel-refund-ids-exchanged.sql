-- The channel's ids of two effects are exchanged. Found by: check P8 effect-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE effects SET channel_refund_id=CASE channel_refund_id WHEN 'ch_success' THEN 'tmp' ELSE 'ch_success' END WHERE channel_refund_id IN ('ch_success','ch_other');
UPDATE effects SET channel_refund_id='ch_other' WHERE channel_refund_id='tmp';
