package access

// Scopes of keys. The list is complete: the database refuses any other.
const (
	ScopeRefundsWrite  = "refunds:write"
	ScopeRefundsRead   = "refunds:read"
	ScopePaymentsWrite = "payments:write"
	ScopeEvidenceRead  = "evidence:read"
	ScopeCasesDecide   = "cases:decide"
	ScopeCasesApprove  = "cases:approve"
	ScopeParkedOperate = "parked:operate"
	ScopeAdmin         = "admin"
	ScopeMetricsRead   = "metrics:read"
)

// Scopes returns all scopes. The database has the same list.
func Scopes() []string {
	return []string{ScopeRefundsWrite, ScopeRefundsRead, ScopePaymentsWrite, ScopeEvidenceRead, ScopeCasesDecide, ScopeCasesApprove,
		ScopeParkedOperate, ScopeAdmin, ScopeMetricsRead}
}
