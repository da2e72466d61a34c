-- The positions of journal rows change: the order of events. Found by: check P7 anchor-hash.
-- Runs as a superuser; the first statement disables guards and foreign keys.
SET LOCAL session_replication_role = replica;
UPDATE journal SET pos=-1 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0') AND seq=1;
UPDATE journal SET pos=(SELECT pos FROM journal WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'other_0') AND seq=1) WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0') AND seq=1 AND false;
UPDATE journal SET pos=(SELECT min(pos)-1 FROM journal WHERE pos>0)-1 WHERE rid=(SELECT rid FROM refunds WHERE refund_id = 'success_0') AND seq=1;
