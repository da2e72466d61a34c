-- Deleted: a kept notice that is not matched yet (its success is lost). Found by: nothing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM notices WHERE rid IS NULL;
