-- Journal rows name a replay that did not happen. Found by: check P7 journal-replay.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE journal SET private=NULL, replay_batch=gen_random_uuid() WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
