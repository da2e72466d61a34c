-- The digest of a refused receipt changes: a repeat becomes a conflict. Found by: check P6 receipt-params.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE receipts SET digest='\x01'::bytea||sha256('x') WHERE event_id='ev_refused';
