-- The hold of sending and the marking of new refunds are removed, with another installation id. Found by: check P1 dispatch-number.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE installation SET sending_held_since=NULL, mark_new_until=NULL, installation_id=gen_random_uuid();
