-- The receipt of a capture is deleted. Found by: check P5 capture-receipt.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM receipts WHERE event_id='cap';
