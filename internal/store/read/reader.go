// Package read answers the queries of the API and reads the gauges of the backlog. It writes nothing.
package read

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/refund"
)

// Accounts gives the contracts of the channel accounts that this process is configured with.
type Accounts interface {
	// Account gives an account's contract, and whether the tenant may use it.
	Account(name string, tenant refund.TenantID) (c refund.Contract, known, allowed bool)
}

// Reader reads for internal/http, for the redrive of internal/bridge, and for the gauges of internal/telemetry; cmd/server connects them. An
// answer that takes several statements comes from one snapshot of the database. Its methods are in one file for each view:
//
//	refunds.go   a refund, the list of refunds    (API)
//	timeline.go  the history of one refund        (API)
//	payments.go  a payment with its effects       (API)
//	cases.go     a case with its choices, lists   (API)
//	messages.go  the deliveries of an event       (API)
//	parking.go   a parked message, lists          (API; redrive)
//	backlog.go   open refunds, cases and messages (gauges, every 5 s)
type Reader struct {
	pool     *pgxpool.Pool
	accounts Accounts
}

// New makes a Reader on the pool of the hot path, which it shares with the store: reads have no connections and no planner settings of
// their own. accounts may be nil, which means that no account is configured.
func New(pool *pgxpool.Pool, accounts Accounts) *Reader {
	return &Reader{pool: pool, accounts: accounts}
}

// contractOf gives the account's contract in this process.
func (r *Reader) contractOf(account string, tenant refund.TenantID) (c refund.Contract, known bool) {
	if r.accounts == nil {
		return c, false
	}
	c, known, _ = r.accounts.Account(account, tenant)
	return c, known
}
