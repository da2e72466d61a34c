-- Maker and checker of a decision are exchanged. Found by: check P8 decision-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE decisions SET maker=checker, checker=maker WHERE case_id IN (SELECT case_id FROM cases WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'notdone_0'));
