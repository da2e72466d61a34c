-- A closed case is deleted with its decisions. Found by: check P8 case-missing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM decisions WHERE case_id IN (SELECT case_id FROM cases WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'notdone_0'));
DELETE FROM cases WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'notdone_0');
