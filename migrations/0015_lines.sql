-- +goose Up
ALTER TABLE effects
  ADD COLUMN told_at timestamptz,
  ADD COLUMN pending boolean NOT NULL DEFAULT false,
  ADD COLUMN covered_by uuid,
  ADD COLUMN not_of uuid[] NOT NULL DEFAULT '{}',
  ADD CONSTRAINT effects_pending_ck CHECK (NOT pending OR status IN ('HELD','DROPPED')),
  ADD CONSTRAINT effects_covered_ck CHECK (covered_by IS NULL OR status = 'HELD'),
  ADD CONSTRAINT effects_covered_fk FOREIGN KEY (tenant_id, covered_by) REFERENCES refunds;
COMMENT ON COLUMN effects.told_at IS 'The channel''s own time of a line, null if not given. It may show that a line is older than a refund. Written once with the row.';
COMMENT ON COLUMN effects.pending IS 'The channel has not said yet that the money of this held line moved. Written by enter, cleared by enter and people.';
COMMENT ON COLUMN effects.covered_by IS 'Open refund that may own this held line and reserves its amount, so that the line is not part of payments.held. Written by enter and people.';
COMMENT ON COLUMN effects.not_of IS 'Refunds of which an approved decision says that this line is not theirs. It only grows. Written by people.';
COMMENT ON COLUMN payments.held IS 'Sum of the held lines that no open refund covers, and of the amounts of final refunds that are still exposed. Written by enter and people.';
ALTER TABLE decisions ADD COLUMN both_happened boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN decisions.both_happened IS 'confirm-success: the refund moved money beside the adopted line of its amount. Written once by people.';
COMMENT ON COLUMN effects.source IS 'How it became known: answer, query, list, notice, settlement; person where a decision booked it or made the line the refund''s own. Written with the row, then only to person.';
COMMENT ON COLUMN decisions.effect_id IS 'The line that becomes the refund''s own, if any. Written once by people.';

CREATE TRIGGER effects_told_once BEFORE UPDATE OF told_at ON effects FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER effects_answers_stay BEFORE UPDATE OF not_of ON effects FOR EACH ROW WHEN (NOT NEW.not_of @> OLD.not_of) EXECUTE FUNCTION append_only();
CREATE TRIGGER effects_moves_once BEFORE UPDATE OF pending ON effects FOR EACH ROW WHEN (NEW.pending AND NOT OLD.pending) EXECUTE FUNCTION append_only();
CREATE TRIGGER decisions_both_once BEFORE UPDATE OF both_happened ON decisions FOR EACH STATEMENT EXECUTE FUNCTION append_only();
DROP TRIGGER effects_immutable ON effects;
CREATE TRIGGER effects_immutable BEFORE UPDATE OF tenant_id, effect_id, account, payment_id, amount, currency, counted, at ON effects FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER effects_source_by_person BEFORE UPDATE OF source ON effects FOR EACH ROW WHEN (NEW.source <> OLD.source AND NOT (NEW.source = 'person' AND OLD.rid IS NULL AND NEW.rid IS NOT NULL)) EXECUTE FUNCTION append_only();

-- An id that an effect has from a line gives way to the channel's word in one statement: two refunds that had each other's line swap.
DROP TRIGGER effects_one_owner ON effects;
-- +goose StatementBegin
CREATE FUNCTION effects_one_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_RELID <> 'effects'::regclass THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'search_path leads to another cell';
  END IF;
  IF NEW.rid <> OLD.rid OR EXISTS (SELECT FROM dispatches d WHERE d.tenant_id = OLD.tenant_id AND d.rid = OLD.rid
      AND d.channel_refund_id = OLD.channel_refund_id) THEN
    RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'effects_append_only', MESSAGE = 'effects does not allow this change (effects_one_owner)';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION effects_one_owner() IS 'An effect keeps its refund, and the channel refund id that the channel itself has given.';
CREATE TRIGGER effects_one_owner BEFORE UPDATE OF rid, channel_refund_id ON effects FOR EACH ROW WHEN (NEW.rid <> OLD.rid OR NEW.channel_refund_id <> OLD.channel_refund_id) EXECUTE FUNCTION effects_one_owner();
