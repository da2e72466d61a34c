package access

// Scopes of keys. The list is final: the database refuses any other.
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

// Scopes lists what a key can be allowed to do. The database knows the same ones.
func Scopes() []string {
	return []string{ScopeRefundsWrite, ScopeRefundsRead, ScopePaymentsWrite, ScopeEvidenceRead, ScopeCasesDecide, ScopeCasesApprove,
		ScopeParkedOperate, ScopeAdmin, ScopeMetricsRead}
}
