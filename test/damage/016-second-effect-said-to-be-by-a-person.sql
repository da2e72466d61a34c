-- The second effect of a refund becomes one that only a person confirmed, without the channel's id. Found by: check P8 effect-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE effects SET source='person', channel_refund_id=NULL WHERE channel_refund_id='ch_doubled_again';
