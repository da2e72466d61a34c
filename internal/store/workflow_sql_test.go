package store

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/store/pg"
)

// workflowStatements are the constants of the workflow's files by name.
func workflowStatements() map[string]string {
	return map[string]string{
		"LoadRefundSQL": pg.LoadRefundSQL, "LoadDispatchesSQL": pg.LoadDispatchesSQL, "LoadAttemptsSQL": pg.LoadAttemptsSQL, "LoadEffectsSQL": pg.LoadEffectsSQL,
		"LoadPaymentSQL": pg.LoadPaymentSQL, "LoadFactsSQL": pg.LoadFactsSQL, "BeginSnapshotSQL": pg.BeginSnapshotSQL, "EndSnapshotSQL": pg.EndSnapshotSQL,
		"claimSQL": claimSQL.SQL, "claimPooledSQL": claimPooledSQL.SQL, "askSQL": askSQL, "postponeSQL": postponeSQL, "lockRefundSQL": lockRefundSQL,
		"lockPaymentSQL": lockPaymentSQL,
		"enteredSQL":     enteredSQL, "answerAttemptSQL": answerAttemptSQL, "updateDispatchSQL": updateDispatchSQL, "markDispatchSQL": markDispatchSQL,
		"insertDispatchSQL": insertDispatchSQL, "moveRefundSQL": moveRefundSQL.SQL, "touchRefundSQL": touchRefundSQL,
		"updateBalancesSQL": updateBalancesSQL, "insertEffectSQL": insertEffectSQL.SQL, "updateEffectSQL": updateEffectSQL.SQL,
		"insertLedgerAccountsSQL": insertLedgerAccountsSQL, "insertPostingSQL": insertPostingSQL, "closeCaseSQL": closeCaseSQL,
		"openCaseSQL": openCaseSQL, "insertRetirementSQL": insertRetirementSQL, "updateCaseSQL": updateCaseSQL, "voidDecisionsSQL": voidDecisionsSQL,
		"sweepDueSQL": sweepDueSQL, "sweepFarSQL": sweepFarSQL, "resumeSendsSQL": resumeSendsSQL,
		"sweepParkedSQL": sweepParkedSQL, "insertEffectEventSQL": insertEffectEventSQL, "openPaymentCaseSQL": openPaymentCaseSQL,
		"closePaymentCaseSQL": closePaymentCaseSQL, "DecisionsSQL": pg.DecisionsSQL, "caseSubjectSQL": caseSubjectSQL, "insertDecisionSQL": insertDecisionSQL.SQL,
		"judgeDecisionSQL": judgeDecisionSQL, "endDecisionSQL": endDecisionSQL, "applyDecisionSQL": applyDecisionSQL,
		"acceptExcessSQL": acceptExcessSQL, "expireDecisionsSQL": expireDecisionsSQL, "approvedSQL": approvedSQL, "settledPaymentsSQL": settledPaymentsSQL,
		"orphansSQL":   orphansSQL,
		"heldLinesSQL": heldLinesSQL, "refundsOfPaymentSQL": refundsOfPaymentSQL, "lockRefundsSQL": lockRefundsSQL, "takenIDsSQL": takenIDsSQL,
		"ownerOfIDSQL":  ownerOfIDSQL,
		"disownLineSQL": disownLineSQL, "newestContractSQL": newestContractSQL,
		"linesToSettleSQL": linesToSettleSQL, "voidPaymentDecisionsSQL": voidPaymentDecisionsSQL,
	}
}

func TestWorkflowStatementsPrepare(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	conn, err := b.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for name, sql := range workflowStatements() {
		if _, err := conn.Conn().Prepare(t.Context(), "test_"+name, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every statement …SQL of these files is in the list above.
func TestWorkflowStatementsAreListed(t *testing.T) {
	t.Parallel()
	listed := workflowStatements()
	for _, file := range []string{"pg/load.go", "pg/snapshot.go", "pg/rows.go", "claim.go", "ask.go", "postpone.go", "enter.go", "enter_write.go",
		"enter_money.go", "enter_cases.go", "sweep.go", "cancel.go", "decisions.go",
		"decisions_apply.go", "lines.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for _, id := range spec.Names {
				if strings.HasSuffix(id.Name, "SQL") && listed[id.Name] == "" {
					t.Errorf("%s: %s is not listed", file, id.Name)
				}
			}
			return true
		})
	}
}
