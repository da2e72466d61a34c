-- +goose Up
-- Guards: rules that the database enforces by itself. All raise SQLSTATE 23514 with a constraint name, like a CHECK.
-- A function that reads other tables first checks that the search path leads to the schema of the changed row: a session with the
-- search path of another cell must fail, and must not be checked against that cell's rows.

-- +goose StatementBegin
CREATE FUNCTION refunds_transitions() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ARRAY[
    'PENDING>PROCESSING', 'PENDING>CANCELED', 'PENDING>FAILED', 'PENDING>UNKNOWN', 'PENDING>SUCCESS',
    'PROCESSING>PENDING', 'PROCESSING>ACCEPTED', 'PROCESSING>UNKNOWN', 'PROCESSING>SUCCESS', 'PROCESSING>FAILED',
    'ACCEPTED>SUCCESS', 'ACCEPTED>FAILED', 'ACCEPTED>UNKNOWN',
    'UNKNOWN>PENDING', 'UNKNOWN>ACCEPTED', 'UNKNOWN>SUCCESS', 'UNKNOWN>FAILED',
    'SUCCESS>REVERSED', 'FAILED>SUCCESS', 'CANCELED>SUCCESS', 'REVERSED>SUCCESS']
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION refunds_transitions() IS 'The allowed changes of state, as FROM>TO. Must equal the domain''s state table.';

-- +goose StatementBegin
CREATE FUNCTION refunds_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_RELID <> 'refunds'::regclass THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'search_path leads to another cell';
  END IF;
  IF (NEW.tenant_id, NEW.rid, NEW.refund_id, NEW.payment_id, NEW.order_id, NEW.account, NEW.channel_reference, NEW.currency,
      NEW.exponent, NEW.amount, NEW.digest, NEW.created_at, NEW.prev_rid)
     IS DISTINCT FROM
     (OLD.tenant_id, OLD.rid, OLD.refund_id, OLD.payment_id, OLD.order_id, OLD.account, OLD.channel_reference, OLD.currency,
      OLD.exponent, OLD.amount, OLD.digest, OLD.created_at, OLD.prev_rid) THEN
    RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'refunds_immutable', MESSAGE = 'refund parameters are immutable';
  END IF;
  IF NEW.generation NOT IN (OLD.generation, OLD.generation + 1)
     OR NEW.journal_seq NOT IN (OLD.journal_seq, OLD.journal_seq + 1)
     OR (NEW.state <> OLD.state AND NEW.journal_seq = OLD.journal_seq)
     OR (NEW.journal_seq = OLD.journal_seq AND NEW.journal_head <> OLD.journal_head)
     OR NEW.epoch < OLD.epoch OR NEW.dispatch_no < OLD.dispatch_no OR NEW.attempt_no < OLD.attempt_no
     OR (NEW.generation > OLD.generation AND (NEW.lease_ends_at IS NULL OR NEW.attempt_no <> OLD.attempt_no + 1))
     -- without a claim nobody becomes an owner and no lease begins or grows
     OR (NEW.generation = OLD.generation AND (
           (NEW.state = 'PROCESSING' AND OLD.state <> 'PROCESSING')
           OR coalesce(NEW.lease_ends_at, '-infinity') > coalesce(OLD.lease_ends_at, '-infinity'))) THEN
    RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'refunds_fence', MESSAGE = 'generation, epoch, ordinal, lease or journal went wrong';
  END IF;
  IF OLD.case_id IS NOT NULL AND NEW.case_id IS DISTINCT FROM OLD.case_id AND EXISTS (
       SELECT 1 FROM cases c WHERE c.tenant_id = OLD.tenant_id AND c.case_id = OLD.case_id AND c.closed_at IS NULL) THEN
    RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'refunds_case_open', MESSAGE = 'its case is still open';
  END IF;
  IF NEW.state <> OLD.state THEN
    IF (OLD.state || '>' || NEW.state) <> ALL (refunds_transitions())
       OR (NEW.state = 'PROCESSING' AND (NEW.case_id IS NOT NULL OR OLD.ask_no IS NOT NULL))
       OR (NEW.state = 'CANCELED' AND OLD.ask_no IS NOT NULL) THEN
      RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'refunds_transition', MESSAGE = 'no such transition: ' || OLD.state || ' > ' || NEW.state;
    END IF;
    IF NEW.state IN ('PENDING','FAILED','CANCELED') AND (NEW.exposed OR EXISTS (
         SELECT 1 FROM dispatches d WHERE d.tenant_id = NEW.tenant_id AND d.rid = NEW.rid AND d.exposed)) THEN
      RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'refunds_entered_exposed', MESSAGE = 'entered while exposed';
    END IF;
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION refunds_guard() IS 'Refuses changed parameters, decreased counters, a cleared case that is still open, unknown transitions, and entering a final state or PENDING while exposed.';
CREATE TRIGGER refunds_guard BEFORE UPDATE ON refunds FOR EACH ROW EXECUTE FUNCTION refunds_guard();

-- +goose StatementBegin
CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '23514',
    CONSTRAINT = CASE WHEN TG_NARGS > 0 THEN TG_ARGV[0] ELSE TG_TABLE_NAME || '_append_only' END,
    MESSAGE = TG_TABLE_NAME || ' does not allow this change (' || TG_NAME || ')';
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION append_only() IS 'Refuses every change. The constraint name is the argument, or <table>_append_only.';

-- Rows that never change or are never deleted.
CREATE TRIGGER journal_append_only BEFORE DELETE OR TRUNCATE OR UPDATE OF tenant_id, rid, seq, pos, kind, from_state, to_state, generation, source, actor, fact_key, at, data, digest, hash ON journal FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER refund_keys_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON refund_keys FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER postings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON postings FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER captures_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON captures FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER retired_dispatches_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON retired_dispatches FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER contracts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON contracts FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER effect_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON effect_events FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER journal_anchors_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON journal_anchors FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER installation_no_delete BEFORE DELETE OR TRUNCATE ON installation FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER tenants_no_delete BEFORE DELETE OR TRUNCATE ON tenants FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER payments_no_delete BEFORE DELETE OR TRUNCATE ON payments FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER refunds_no_delete BEFORE DELETE OR TRUNCATE ON refunds FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER receipts_no_delete BEFORE DELETE OR TRUNCATE ON receipts FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER dispatches_no_delete BEFORE DELETE OR TRUNCATE ON dispatches FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER attempts_no_delete BEFORE DELETE OR TRUNCATE ON attempts FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER effects_no_delete BEFORE DELETE OR TRUNCATE ON effects FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER conflicts_no_delete BEFORE DELETE OR TRUNCATE ON conflicts FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER cases_no_delete BEFORE DELETE OR TRUNCATE ON cases FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER decisions_no_delete BEFORE DELETE OR TRUNCATE ON decisions FOR EACH STATEMENT EXECUTE FUNCTION append_only();

-- Columns that are written once. A column trigger fires only when the column is in the SET list, so the hot path does not pay for it.
CREATE TRIGGER payments_immutable BEFORE UPDATE OF tenant_id, payment_id, order_id, account, channel_reference, currency, exponent, known_by, created_at ON payments FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER receipts_immutable BEFORE UPDATE OF tenant_id, consumer, source, event_id, month, type, digest, params ON receipts FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER dispatches_immutable BEFORE UPDATE OF tenant_id, rid, no, account, number, at ON dispatches FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER attempts_immutable BEFORE UPDATE OF tenant_id, rid, no, dispatch_no, epoch, kind, generation, contract_version, request_digest, started_at, not_after ON attempts FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER attempts_answer_once BEFORE UPDATE OF answer, answered_at, rule ON attempts FOR EACH ROW WHEN (OLD.answer IS NOT NULL) EXECUTE FUNCTION append_only();
CREATE TRIGGER effects_immutable BEFORE UPDATE OF tenant_id, effect_id, account, payment_id, amount, currency, counted, source, at ON effects FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER cases_immutable BEFORE UPDATE OF tenant_id, case_id, rid, payment_id, opened_at ON cases FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER cases_closed_once BEFORE UPDATE OF closed_at ON cases FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL AND NEW.closed_at IS DISTINCT FROM OLD.closed_at) EXECUTE FUNCTION append_only();
CREATE TRIGGER decisions_immutable BEFORE UPDATE OF tenant_id, decision_id, case_id, action, journal_seq, evidence, maker, made_at, expires_at, effect_id, excess ON decisions FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER decisions_verdict_once BEFORE UPDATE OF verdict, checker, checked_at ON decisions FOR EACH ROW WHEN (OLD.verdict IS NOT NULL AND NOT (OLD.verdict = 'APPROVED' AND NEW.verdict IS NOT DISTINCT FROM 'VOID' AND OLD.applied_at IS NULL)) EXECUTE FUNCTION append_only();
CREATE TRIGGER decisions_applied_once BEFORE UPDATE OF applied_at ON decisions FOR EACH ROW WHEN (OLD.applied_at IS NOT NULL AND NEW.applied_at IS DISTINCT FROM OLD.applied_at) EXECUTE FUNCTION append_only();

-- Values that change in one direction only.
CREATE TRIGGER receipts_bound BEFORE UPDATE ON receipts FOR EACH ROW WHEN (OLD.outcome <> 'REFUSED') EXECUTE FUNCTION append_only('receipts_append_only');
CREATE TRIGGER payments_version BEFORE UPDATE OF version ON payments FOR EACH ROW WHEN (NEW.version < OLD.version) EXECUTE FUNCTION append_only();
CREATE TRIGGER payments_paid_once BEFORE UPDATE OF paid_at ON payments FOR EACH ROW WHEN (OLD.paid_at IS NOT NULL AND NEW.paid_at IS DISTINCT FROM OLD.paid_at) EXECUTE FUNCTION append_only();
CREATE TRIGGER installation_epoch BEFORE UPDATE OF epoch, installation_id ON installation FOR EACH ROW WHEN (NEW.epoch < OLD.epoch OR NEW.installation_id <> OLD.installation_id) EXECUTE FUNCTION append_only();
CREATE TRIGGER effects_status_rises BEFORE UPDATE OF status ON effects FOR EACH ROW WHEN (OLD.status <> NEW.status AND (OLD.status || '>' || NEW.status) NOT IN ('HELD>MOVED','HELD>DROPPED','MOVED>REVERSED')) EXECUTE FUNCTION append_only();
CREATE TRIGGER dispatches_times BEFORE UPDATE OF key_expires_at, absence_counts_from ON dispatches FOR EACH ROW WHEN (NEW.key_expires_at > OLD.key_expires_at OR NEW.absence_counts_from < OLD.absence_counts_from OR num_nulls(NEW.key_expires_at) > num_nulls(OLD.key_expires_at) OR num_nulls(NEW.absence_counts_from) > num_nulls(OLD.absence_counts_from)) EXECUTE FUNCTION append_only();
CREATE TRIGGER dispatches_acknowledged BEFORE UPDATE OF acknowledged ON dispatches FOR EACH ROW WHEN (OLD.acknowledged AND NOT NEW.acknowledged AND NOT (OLD.channel_refund_id IS NOT NULL AND NEW.channel_refund_id IS NULL)) EXECUTE FUNCTION append_only();

-- Rows that must be inserted undecided.
CREATE TRIGGER refunds_birth BEFORE INSERT ON refunds FOR EACH ROW WHEN (NEW.state NOT IN ('PENDING','PROCESSING','UNKNOWN') OR NEW.generation NOT IN (0, 1)) EXECUTE FUNCTION append_only('refunds_birth');
CREATE TRIGGER decisions_birth BEFORE INSERT ON decisions FOR EACH ROW WHEN (num_nonnulls(NEW.verdict, NEW.checker, NEW.checked_at, NEW.applied_at) > 0) EXECUTE FUNCTION append_only('decisions_birth');

-- +goose StatementBegin
CREATE FUNCTION retired_dispatches_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  dispatch dispatches;
  proven boolean;
BEGIN
  IF TG_RELID <> 'retired_dispatches'::regclass THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'search_path leads to another cell';
  END IF;
  SELECT * INTO dispatch FROM dispatches d WHERE d.tenant_id = NEW.tenant_id AND d.rid = NEW.rid AND d.no = NEW.no;
  IF NOT FOUND THEN
    RETURN NEW;   -- the foreign key refuses it
  END IF;
  IF NEW.epoch IS NOT NULL THEN
    proven := dispatch.marked_epoch = NEW.epoch;
  ELSE
    proven := NOT dispatch.exposed AND (
      EXISTS (SELECT 1 FROM attempts a
        WHERE a.tenant_id = NEW.tenant_id AND a.rid = NEW.rid AND a.no = NEW.proof_attempt AND a.dispatch_no = NEW.no
          AND a.answer IN ('REFUSED','REFUSED_NEW_NUMBER','RETRYABLE','NOT_SENT','NOT_FOUND','FAILED_FINAL'))
      OR EXISTS (SELECT 1 FROM decisions x JOIN cases c USING (tenant_id, case_id)
        WHERE x.tenant_id = NEW.tenant_id AND x.decision_id = NEW.decision_id AND c.rid = NEW.rid
          AND x.verdict = 'APPROVED' AND x.action = 'resend'));
  END IF;
  IF proven IS NOT TRUE THEN
    RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'retired_dispatches_proof', MESSAGE = 'a number is retired only with a proof';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION retired_dispatches_guard() IS 'A retirement needs an answer of that dispatch or an approved resend of its refund, with nothing exposed; or the epoch mark of the dispatch.';
CREATE TRIGGER retired_dispatches_guard BEFORE INSERT ON retired_dispatches FOR EACH ROW EXECUTE FUNCTION retired_dispatches_guard();

-- +goose StatementBegin
CREATE FUNCTION decisions_fresh() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_RELID <> 'decisions'::regclass THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'search_path leads to another cell';
  END IF;
  IF EXISTS (SELECT 1 FROM cases c JOIN refunds r ON r.tenant_id = c.tenant_id AND r.rid = c.rid
       WHERE c.tenant_id = NEW.tenant_id AND c.case_id = NEW.case_id AND r.journal_seq IS DISTINCT FROM NEW.journal_seq)
     OR EXISTS (SELECT 1 FROM cases c JOIN payments p ON p.tenant_id = c.tenant_id AND p.payment_id = c.payment_id
       WHERE c.tenant_id = NEW.tenant_id AND c.case_id = NEW.case_id AND c.rid IS NULL AND p.excess <> NEW.excess) THEN
    RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'decisions_fresh', MESSAGE = 'what it was made on has moved on';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION decisions_fresh() IS 'An approval needs the journal of the proposal or, for a case about a payment, its excess, unchanged.';
CREATE TRIGGER decisions_fresh BEFORE UPDATE OF verdict ON decisions FOR EACH ROW WHEN (NEW.verdict = 'APPROVED') EXECUTE FUNCTION decisions_fresh();

-- +goose StatementBegin
CREATE FUNCTION captures_kind() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_RELID <> 'captures'::regclass THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'search_path leads to another cell';
  END IF;
  -- a payment that does not exist is left to the foreign key
  IF EXISTS (SELECT 1 FROM payments p WHERE p.tenant_id = NEW.tenant_id AND p.payment_id = NEW.payment_id AND p.known_by <> 'captures') THEN
    RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = 'captures_kind', MESSAGE = 'payment is known by snapshot';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION captures_kind() IS 'A payment that is known by snapshot refuses captures.';
CREATE TRIGGER captures_kind BEFORE INSERT ON captures FOR EACH ROW EXECUTE FUNCTION captures_kind();
