-- A reader of the journal is set forward to the end: it skips events. Found by: signature of success_0.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
INSERT INTO readers(name,cursor) VALUES ('sink',(SELECT last_value FROM journal_pos_seq));
