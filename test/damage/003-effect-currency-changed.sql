-- The currency of an effect and its posting changes. Found by: check P8 effect-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE postings SET currency='EUR' WHERE effect_id = (SELECT effect_id FROM effects WHERE channel_refund_id='ch_success');
UPDATE effects SET currency='EUR' WHERE channel_refund_id='ch_success';
INSERT INTO ledger_accounts SELECT tenant_id, code, 'EUR', kind FROM ledger_accounts ON CONFLICT DO NOTHING;
