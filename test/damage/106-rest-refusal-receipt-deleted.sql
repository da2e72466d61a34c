-- The receipt of a refused REST request is deleted. Found by: signature of success_0.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM receipts WHERE event_id = 'ev_rest';
