-- +goose Up
ALTER TABLE payments ADD COLUMN paid_at timestamptz;
COMMENT ON COLUMN payments.paid_at IS 'When the payer paid, as the caller says; null until said. The refund window runs from it. Written once by accept, with the row or later.';
COMMENT ON COLUMN payments.window_ends_at IS 'End of the contract''s refund window, null without one: from paid_at where it is known, else from created_at. Written by accept, with the row and with paid_at.';
CREATE TRIGGER payments_paid_once BEFORE UPDATE OF paid_at ON payments FOR EACH ROW WHEN (OLD.paid_at IS NOT NULL AND NEW.paid_at IS DISTINCT FROM OLD.paid_at) EXECUTE FUNCTION append_only();

ALTER TABLE effects ADD COLUMN voucher jsonb,
  ADD CONSTRAINT effects_voucher_ck CHECK (jsonb_typeof(voucher) = 'object' AND octet_length(voucher::text) <= 4096);
COMMENT ON COLUMN effects.voucher IS 'What the channel gives a payer to find the money by (ARN, receipt number, time): a flat object of texts, null when it gave none. Written by enter, with the row or when the effect is paired.';

ALTER TABLE api_keys DROP CONSTRAINT api_keys_scopes_ck;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_scopes_ck CHECK (cardinality(scopes) > 0
  AND scopes <@ ARRAY['refunds:write','refunds:read','payments:write','evidence:read','cases:decide','cases:approve','parked:operate','admin','metrics:read']);
