-- A conflict moves to another tenant. Found by: check P6 conflict-of-nothing.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
INSERT INTO tenants(tenant_id,code) VALUES (77,'thief');
UPDATE conflicts SET tenant_id=77;
