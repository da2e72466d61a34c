-- A receipt is back-dated by two years. Found by: check P5 receipt-time.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE receipts SET at=at-interval '2 years' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0');
