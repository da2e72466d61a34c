-- An effect is back-dated by a year. Found by: check P8 effect-differs.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE effects SET at=at-interval '1 year' WHERE channel_refund_id='ch_success';
