-- The actor of a journal row changes. Found by: check P7 journal-digest.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE journal SET actor='actor:eve' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'canceled_0') AND seq=2;
