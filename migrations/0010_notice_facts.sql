-- +goose Up
ALTER TABLE notices ADD COLUMN fact jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN notices.fact IS 'What it says of the refund, as read when its signature was checked; {} = not to be read. A later match uses it, so neither old secrets nor old readers are needed then. Written once with the row.';
