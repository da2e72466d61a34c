-- A refund moves to another tenant with all its rows. Found by: check P7 journal-birth.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
INSERT INTO tenants(tenant_id,code) VALUES (77,'thief');
UPDATE payments SET tenant_id=77 WHERE payment_id='pay_success_0';
UPDATE effects SET tenant_id=77 WHERE payment_id='pay_success_0';
UPDATE postings SET tenant_id=77 WHERE effect_id IN (SELECT effect_id FROM effects WHERE tenant_id=77);
UPDATE effect_events SET tenant_id=77 WHERE effect_id IN (SELECT effect_id FROM effects WHERE tenant_id=77);
INSERT INTO ledger_accounts SELECT 77,code,currency,kind FROM ledger_accounts;
UPDATE receipts SET tenant_id=77 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
UPDATE journal SET tenant_id=77 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
UPDATE attempts SET tenant_id=77 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
UPDATE dispatches SET tenant_id=77 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
UPDATE refund_keys SET tenant_id=77 WHERE refund_id='success_0';
UPDATE refunds SET tenant_id=77 WHERE refund_id='success_0';
