-- The kind of a ledger account changes. Found by: check P9 ledger-account-kind.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE ledger_accounts SET kind='asset';
