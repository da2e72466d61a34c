-- A send may leave half a minute longer. Found by: check P8 number-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET not_after=not_after+interval '30 s' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
