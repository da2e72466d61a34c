-- +goose Up
CREATE INDEX deliveries_event_ix ON deliveries (tenant_id, consumer, event_id, delivery_id) WHERE event_id IS NOT NULL;
COMMENT ON INDEX deliveries_event_ix IS 'All deliveries of one event, and whether a delivery is its last one: the message trace.';
