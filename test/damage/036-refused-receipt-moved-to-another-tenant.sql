-- A receipt of a refusal moves to another tenant. Found by: check P5 receipt-payment.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
INSERT INTO tenants(tenant_id,code) VALUES (77,'thief');
UPDATE receipts SET tenant_id=77 WHERE event_id='ev_refused';
