-- +goose Up
CREATE INDEX dispatches_channel_ix ON dispatches (account, channel_refund_id) WHERE channel_refund_id IS NOT NULL;
COMMENT ON INDEX dispatches_channel_ix IS 'Looked through when a notice names the channel''s refund id only. Not unique: a channel that gives one id to two refunds is recorded as it spoke.';
