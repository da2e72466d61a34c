-- The question that a decided resend waits for is removed: the next send goes out unasked. Found by: check P8 ask-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE refunds SET ask_no=NULL WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'asking_0');
