-- Spacing and window of a payment are removed. Found by: check P3 captured.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE payments SET next_send_at=NULL, window_ends_at=NULL, known_by='captures' WHERE payment_id='pay_success_0';
