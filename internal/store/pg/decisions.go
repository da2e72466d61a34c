package pg

const decisionColumns = `d.decision_id, d.case_id, d.action, d.journal_seq, d.excess, d.effect_id, d.evidence, m.name, k.name, d.made_at, d.expires_at,
  d.checked_at, d.applied_at, d.verdict`

const decisionFrom = `decisions d JOIN actors m ON (m.tenant_id, m.actor_id) = (d.tenant_id, d.maker)
  LEFT JOIN actors k ON (k.tenant_id, k.actor_id) = (d.tenant_id, d.checker)`

// DecisionsSQL reads a case's decisions for ScanDecision, the newest first. $1 tenant, $2 case, $3 limit.
const DecisionsSQL = `SELECT ` + decisionColumns + ` FROM ` + decisionFrom + ` WHERE d.tenant_id = $1 AND d.case_id = $2 ORDER BY d.decision_id DESC LIMIT $3`

// MostDecisions bounds how many decisions of one case are read.
const MostDecisions = 100
