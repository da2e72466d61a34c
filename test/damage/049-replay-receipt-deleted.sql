-- The receipt of a repeated message is deleted. Found by: check P5 delivery-without-receipt.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM receipts WHERE event_id='ev_other';
