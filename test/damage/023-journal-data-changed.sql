-- The data of a journal row changes. Found by: check P7 journal-digest.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE journal SET data=replace(data,'100','900') WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0') AND seq=1;
