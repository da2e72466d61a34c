-- Evidence and rule of an answer are erased. Found by: check P8 answer-impossible.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET evidence=NULL, rule=NULL WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'failed_0');
