-- The evidence of an answer is emptied, its rule stays. Found by: signature of failed_0.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE attempts SET evidence='{}' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'failed_0');
