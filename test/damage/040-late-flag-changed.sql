-- An answer in time becomes a late one. Found by: check P8 answer-late.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET late=NOT late WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
