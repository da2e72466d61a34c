-- The parameters of a receipt change, its digest stays. Found by: check P6 receipt-params.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE receipts SET params='{"refundId":"success_0","amount":1}' WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0') AND outcome='TAKEN';
