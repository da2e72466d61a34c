-- A notice that no refund has matched yet is deleted: its success is lost. Found by: signature of success_0.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM notices WHERE rid IS NULL;
