-- A payment without refunds moves to another tenant with its captures. Found by: check P5 capture-receipt.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
INSERT INTO tenants(tenant_id,code) VALUES (77,'thief');
UPDATE captures SET tenant_id=77;
UPDATE payments SET tenant_id=77 WHERE payment_id='pay_cap';
