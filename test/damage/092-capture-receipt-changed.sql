-- The receipt of a capture becomes a refusal. Found by: check P5 capture-receipt.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE receipts SET outcome='REFUSED', code='x' WHERE event_id='cap';
