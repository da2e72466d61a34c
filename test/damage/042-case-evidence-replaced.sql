-- The evidence of a case is replaced. Found by: check P8 case-evidence.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE cases SET evidence='{"a":1}' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'notdone_0');
