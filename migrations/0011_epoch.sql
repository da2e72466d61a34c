-- +goose Up
ALTER TABLE installation ADD COLUMN reseen_until timestamptz;
COMMENT ON COLUMN installation.reseen_until IS 'Refunds accepted before this time may be ones that a restore has lost: they are marked before anything is sent for them. Written by epoch.';
