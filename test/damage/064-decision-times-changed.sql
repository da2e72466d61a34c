-- A decision is proposed earlier and expires later than it was. Found by: check P8 decision-times.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE decisions SET made_at=made_at-interval '10 days', expires_at=expires_at+interval '10 days' WHERE case_id IN (SELECT case_id FROM cases WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'notdone_0'));
