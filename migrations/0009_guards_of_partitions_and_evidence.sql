-- +goose Up
-- Statement triggers of a partitioned table do not run for statements on one of its partitions. guard_partition gives a partition the
-- statement triggers of its parent. Whoever makes a partition calls it, and so does every later migration that adds such a trigger.

-- Deliveries are written once. Their partitions are dropped as a whole.
CREATE TRIGGER deliveries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON deliveries FOR EACH STATEMENT EXECUTE FUNCTION append_only();

-- +goose StatementBegin
CREATE FUNCTION guard_partition(part regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent regclass := (SELECT i.inhparent FROM pg_inherits i WHERE i.inhrelid = part);
  guard record;
BEGIN
  IF parent IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = '42809', MESSAGE = part || ' is no partition';
  END IF;
  FOR guard IN
    SELECT t.tgname, c.relname, t.tgnargs, pg_get_triggerdef(t.oid) AS def
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE t.tgrelid = parent AND NOT t.tgisinternal AND t.tgtype & 1 = 0   -- bit 0: FOR EACH ROW; those are cloned by PostgreSQL itself
      AND NOT EXISTS (SELECT FROM pg_trigger x WHERE x.tgrelid = part AND x.tgname = t.tgname)
    ORDER BY t.tgname
  LOOP
    guard.def := regexp_replace(guard.def, ' ON [^ ]+ FOR EACH STATEMENT ', format(' ON %s FOR EACH STATEMENT ', part));
    IF guard.tgnargs = 0 THEN   -- the constraint is named after the parent
      guard.def := regexp_replace(guard.def, '\(\)$', format('(%L)', guard.relname || '_append_only'));
    END IF;
    EXECUTE guard.def;
  END LOOP;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION guard_partition(regclass) IS 'Gives a partition the statement triggers of its parent that it lacks. Called when a partition is made or attached, and by each migration that adds a statement trigger to a partitioned table.';

SELECT guard_partition(i.inhrelid::regclass) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent
  WHERE c.relkind = 'p' AND c.relnamespace = (SELECT p.relnamespace FROM pg_class p WHERE p.oid = 'receipts'::regclass);

-- Notices and evidence.
CREATE TRIGGER notices_no_delete BEFORE DELETE OR TRUNCATE ON notices FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER notices_immutable BEFORE UPDATE OF account, digest, number, channel_refund_id, headers, body, fact, at ON notices FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER notices_matched_once BEFORE UPDATE OF tenant_id, rid ON notices FOR EACH ROW WHEN (OLD.rid IS NOT NULL AND (NEW.tenant_id, NEW.rid) IS DISTINCT FROM (OLD.tenant_id, OLD.rid)) EXECUTE FUNCTION append_only();
CREATE TRIGGER notices_times_seen BEFORE UPDATE OF times_seen ON notices FOR EACH ROW WHEN (NEW.times_seen < OLD.times_seen) EXECUTE FUNCTION append_only();
CREATE TRIGGER attempts_evidence_once BEFORE UPDATE OF late, evidence ON attempts FOR EACH ROW WHEN (OLD.answer IS NOT NULL AND ((OLD.evidence IS NOT NULL AND NEW.evidence IS DISTINCT FROM OLD.evidence) OR NEW.late <> OLD.late)) EXECUTE FUNCTION append_only();
CREATE TRIGGER cases_evidence_once BEFORE UPDATE OF evidence ON cases FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER conflicts_immutable BEFORE UPDATE OF tenant_id, conflict_id, kind, consumer, source, event_id, refund_id, payment_id, rid, got_digest, got, fields, transport, at ON conflicts FOR EACH STATEMENT EXECUTE FUNCTION append_only();

-- An effect keeps its refund and its channel refund id until both are taken from it.
CREATE TRIGGER effects_one_owner BEFORE UPDATE OF rid, channel_refund_id ON effects FOR EACH ROW WHEN (NEW.rid <> OLD.rid OR NEW.channel_refund_id <> OLD.channel_refund_id) EXECUTE FUNCTION append_only();

-- Rules for new rows only: rows of earlier versions are left to verify.
ALTER TABLE contracts ADD CONSTRAINT contracts_digest_ck CHECK (digest = sha256(convert_to(contract::text, 'UTF8'))) NOT VALID;
COMMENT ON CONSTRAINT contracts_digest_ck ON contracts IS 'The digest is that of the contract''s text. Rows from before this constraint are checked by verify.';

-- +goose StatementBegin
CREATE FUNCTION dispatches_override() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_RELID <> 'dispatches'::regclass THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'search_path leads to another cell';
  END IF;
  -- a decision that does not exist is left to the foreign key
  IF EXISTS (SELECT FROM decisions x WHERE x.tenant_id = NEW.tenant_id AND x.decision_id = NEW.overridden_by)
     AND NOT EXISTS (SELECT FROM decisions x JOIN cases c USING (tenant_id, case_id)
       WHERE x.tenant_id = NEW.tenant_id AND x.decision_id = NEW.overridden_by AND c.rid = NEW.rid AND x.verdict = 'APPROVED'
         AND x.action IN ('confirm-not-done','resend','accept-as-is','revoke-confirmation')) THEN
    RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'dispatches_override', MESSAGE = 'a number is overridden only by an approved decision about its refund';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION dispatches_override() IS 'An override needs an approved decision about the dispatch''s refund, of an action that overrides.';
CREATE TRIGGER dispatches_override BEFORE UPDATE OF overridden_by ON dispatches FOR EACH ROW WHEN (NEW.overridden_by IS NOT NULL AND NEW.overridden_by IS DISTINCT FROM OLD.overridden_by) EXECUTE FUNCTION dispatches_override();
CREATE TRIGGER dispatches_override_insert BEFORE INSERT ON dispatches FOR EACH ROW WHEN (NEW.overridden_by IS NOT NULL) EXECUTE FUNCTION dispatches_override();

-- +goose StatementBegin
CREATE FUNCTION refunds_ask() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_RELID <> 'refunds'::regclass THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'search_path leads to another cell';
  END IF;
  IF NEW.ask_no IS NOT NULL OR NEW.journal_seq = OLD.journal_seq OR (NEW.state = 'PENDING'
       AND NOT EXISTS (SELECT FROM attempts a WHERE a.tenant_id = NEW.tenant_id AND a.rid = NEW.rid AND a.dispatch_no = OLD.ask_no
         AND a.answer IN ('NOT_FOUND','FAILED_FINAL'))
       AND NOT EXISTS (SELECT FROM dispatches d WHERE d.tenant_id = NEW.tenant_id AND d.rid = NEW.rid AND d.no = OLD.ask_no
         AND d.final_negative_at IS NOT NULL)) THEN
    RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'refunds_ask', MESSAGE = 'an ask ends by its answer or with PENDING';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION refunds_ask() IS 'An open ask is cleared, in a change with a journal row, by an answer about its dispatch or by leaving PENDING.';
CREATE TRIGGER refunds_ask BEFORE UPDATE OF ask_no ON refunds FOR EACH ROW WHEN (OLD.ask_no IS NOT NULL AND NEW.ask_no IS DISTINCT FROM OLD.ask_no) EXECUTE FUNCTION refunds_ask();

-- +goose StatementBegin
CREATE FUNCTION decisions_open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_RELID <> 'decisions'::regclass THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'search_path leads to another cell';
  END IF;
  -- a case that does not exist is left to the foreign key
  IF EXISTS (SELECT FROM cases c LEFT JOIN refunds r ON r.tenant_id = c.tenant_id AND r.rid = c.rid
       WHERE c.tenant_id = NEW.tenant_id AND c.case_id = NEW.case_id AND (c.closed_at IS NOT NULL OR NEW.journal_seq > r.journal_seq)) THEN
    RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'decisions_open', MESSAGE = 'the case is closed, or its journal has not come that far';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION decisions_open() IS 'A proposal needs an open case and a journal position that its refund has reached.';
CREATE TRIGGER decisions_open BEFORE INSERT ON decisions FOR EACH ROW EXECUTE FUNCTION decisions_open();
