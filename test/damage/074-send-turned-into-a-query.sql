-- A send becomes a query. Found by: check P10 claim-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET kind='LIST' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
