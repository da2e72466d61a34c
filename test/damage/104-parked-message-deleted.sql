-- A parked message is deleted. Found by: check P5 delivery-without-parked.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM parked;
