-- The case of a success after the end is closed without a decision or a journal row. Found by: check P8 case-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE cases SET closed_at=now(), closed_how='fact:succeeded' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'late_0');
UPDATE refunds SET case_id=NULL, next_action_at=NULL WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'late_0');
