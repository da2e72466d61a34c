-- The epoch is raised without its procedure. Found by: check P10 refund-unmarked.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE installation SET epoch=5;
