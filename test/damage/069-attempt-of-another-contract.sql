-- An attempt moves to another version of the contract. Found by: check P10 claim-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
INSERT INTO contracts(account,version,contract,digest) SELECT account,9,contract,digest FROM contracts LIMIT 1;
UPDATE attempts SET contract_version=9 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
