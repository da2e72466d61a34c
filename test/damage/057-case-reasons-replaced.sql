-- The reasons of an open case are replaced. Found by: check P8 case-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE cases SET reasons='{deadline}' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'late_0');
