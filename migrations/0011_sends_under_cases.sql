-- +goose Up
-- A case whose only reasons are "deadline" and "no-automatic-step" calls a person and does not stop sends. What stops them: any other
-- reason, or an open proposal that is made for the present version of the refund.

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION refunds_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
       OR (NEW.state = 'PROCESSING' AND OLD.ask_no IS NOT NULL)
       OR (NEW.state = 'PROCESSING' AND NEW.case_id IS NOT NULL AND (
             EXISTS (SELECT 1 FROM cases c WHERE c.tenant_id = NEW.tenant_id AND c.case_id = NEW.case_id
               AND NOT c.reasons <@ ARRAY['deadline','no-automatic-step'])
             OR EXISTS (SELECT 1 FROM decisions x WHERE x.tenant_id = NEW.tenant_id AND x.case_id = NEW.case_id AND x.action <> 'wait'
               AND x.journal_seq = OLD.journal_seq
               AND ((x.verdict IS NULL AND x.expires_at > clock_timestamp()) OR (x.verdict = 'APPROVED' AND x.applied_at IS NULL)))))
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
COMMENT ON FUNCTION refunds_guard() IS 'Refuses changed parameters, decreased counters, a cleared case that is still open, unknown transitions, a send under a case that stops it, and entering a final state or PENDING while exposed.';
