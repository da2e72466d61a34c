-- A closed case says that something else closed it. Found by: check P8 case-closed.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE cases SET closed_how='fact:succeeded' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'notdone_0');
