-- Cases: an open case closed silently: late (flag cleared, no journal row, no decision). Found by: check P8 case-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE cases SET closed_at=now(), closed_how='fact:succeeded' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'late_0');
UPDATE refunds SET case_id=NULL, next_action_at=NULL WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'late_0');
