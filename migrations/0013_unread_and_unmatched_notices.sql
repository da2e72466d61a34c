-- +goose Up
ALTER TABLE notices
  ADD COLUMN unread text,
  ADD COLUMN ended_at timestamptz,
  ADD COLUMN ended_as text COLLATE "C",
  ADD CONSTRAINT notices_ended_ck CHECK ((ended_at IS NULL) = (ended_as IS NULL)),
  ADD CONSTRAINT notices_ended_as_ck CHECK (ended_as IN ('read','dismissed','unmatched'));
COMMENT ON COLUMN notices.unread IS 'Why the notice cannot be read although its signature is right; null if it was read. Written once with the row.';
COMMENT ON COLUMN notices.ended_at IS 'When the wait of an unread or unmatched notice ended without a refund, null until then. Written once by maintenance or an operator.';
COMMENT ON COLUMN notices.ended_as IS 'How it ended: read (a later version read it), dismissed (by an operator) or unmatched (no refund had its number or id for as long as configured). Written with ended_at.';

DROP INDEX notices_unmatched_number_ix;
DROP INDEX notices_unmatched_ix;
CREATE INDEX notices_waiting_number_ix ON notices (number, account) WHERE rid IS NULL AND ended_at IS NULL AND number IS NOT NULL;
CREATE INDEX notices_waiting_id_ix ON notices (account, channel_refund_id) WHERE rid IS NULL AND ended_at IS NULL AND channel_refund_id IS NOT NULL;
CREATE INDEX notices_waiting_ix ON notices (at) WHERE rid IS NULL AND ended_at IS NULL AND unread IS NULL;
CREATE INDEX notices_unread_ix ON notices (account, digest) WHERE unread IS NOT NULL AND ended_at IS NULL;
COMMENT ON INDEX notices_waiting_number_ix IS 'Read for the numbers of each group of intakes, and when a dispatch is inserted.';
COMMENT ON INDEX notices_waiting_id_ix IS 'Read when a channel refund id is stored.';
COMMENT ON INDEX notices_waiting_ix IS 'Read by maintenance: notices that wait for a refund, oldest first.';
COMMENT ON INDEX notices_unread_ix IS 'Read by maintenance, the list of unread notices and their gauge.';

CREATE TRIGGER notices_unread_stays BEFORE UPDATE OF unread ON notices FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER notices_end_once BEFORE UPDATE OF ended_at, ended_as ON notices FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL AND (NEW.ended_at, NEW.ended_as) IS DISTINCT FROM (OLD.ended_at, OLD.ended_as)) EXECUTE FUNCTION append_only();
