-- The posting of a success is deleted. Found by: check P9 posting-missing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM postings WHERE effect_id=(SELECT effect_id FROM effects WHERE channel_refund_id='ch_success');
