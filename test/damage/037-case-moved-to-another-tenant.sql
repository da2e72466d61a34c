-- A closed case moves to another tenant. Found by: check P8 case-of-nothing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
INSERT INTO tenants(tenant_id,code) VALUES (77,'thief');
UPDATE cases SET tenant_id=77 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'notdone_0');
