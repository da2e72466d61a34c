-- An anchor in the middle is removed. Found by: check P7 anchor-hash.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
DELETE FROM journal_anchors WHERE upto_pos = (SELECT upto_pos FROM journal_anchors ORDER BY upto_pos OFFSET 1 LIMIT 1);
