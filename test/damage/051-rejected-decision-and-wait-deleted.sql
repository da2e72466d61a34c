-- A rejected proposal and a decision to wait are deleted. Found by: signature of notdone_0.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM decisions WHERE action='wait' OR verdict='REJECTED';
