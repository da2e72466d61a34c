-- The reason that a decision gives is replaced. Found by: signature of notdone_0.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE decisions SET evidence='made up later' WHERE case_id IN (SELECT case_id FROM cases WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'notdone_0'));
