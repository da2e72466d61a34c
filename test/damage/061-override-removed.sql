-- The override of a number by a decision is removed. Found by: check P8 override-missing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE dispatches SET overridden_by=NULL WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'notdone_0');
