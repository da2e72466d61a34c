-- A disabled actor is enabled again. Found by: signature of waited_0.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE actors SET disabled_at=NULL, kind='person';
