-- The proof of a retirement is replaced. Found by: check P8 retirement-unproven.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE retired_dispatches SET rule='made up', proof_attempt=NULL, epoch=1 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'renumbered_0');
