package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/store/verify"
)

// multiplySQL copies every row for 300 more tenants, each with an account of its own.
const multiplySQL = `DO $$
DECLARE
  tab regclass;
  into_columns text;
  from_columns text;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR tab IN SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace = 'refundry'::regnamespace AND c.relkind IN ('r','p') AND NOT c.relispartition
    AND c.relname <> 'api_keys' AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attname IN ('tenant_id','account'))
  LOOP
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum),
      string_agg(CASE WHEN a.attname = 'tenant_id' THEN 'x.tenant_id + 1000 * g' WHEN a.attname = 'account' THEN 'x.account || g'
        WHEN a.attname = 'pos' THEN 'nextval(''journal_pos_seq'')' WHEN a.attname = 'number' THEN 'left(x.number, 20) || to_char(g, ''FM000000000'')'
        WHEN tab = 'tenants'::regclass AND a.attname = 'code' THEN 'x.code || g' ELSE 'x.' || quote_ident(a.attname) END, ', ' ORDER BY a.attnum)
      INTO into_columns, from_columns
      FROM pg_attribute a WHERE a.attrelid = tab AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND (a.attidentity = '' OR a.attname = 'tenant_id');
    EXECUTE format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %s x, generate_series(1, 300) g', tab, into_columns, from_columns, tab);
  END LOOP;
END $$`

// planNode is a node of EXPLAIN (FORMAT JSON).
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Parent   string     `json:"Parent Relationship"`
	Subplan  string     `json:"Subplan Name"`
	Join     string     `json:"Join Type"`
	Rows     float64    `json:"Plan Rows"`
	Index    string     `json:"Index Cond"`
	Plans    []planNode `json:"Plans"`
}

// manyRows is where a table is large for these tests: most have more rows, none of those that stay small in production has.
const manyRows = 250

// scans returns the large table that the node reads as a whole, "" if none.
func (n planNode) scans() string {
	if strings.HasSuffix(n.Type, "Scan") && n.Index == "" && n.Relation != "" && n.Rows >= manyRows {
		return n.Relation
	}
	for _, p := range n.Plans {
		if s := p.scans(); s != "" && p.Parent != "InitPlan" {
			return s
		}
	}
	return ""
}

// quadratic names a large table that the plan reads as a whole once for each of many rows, "" if there is none.
func (n planNode) quadratic(plan string) string {
	for i, p := range n.Plans {
		again := n.Type == "Nested Loop" && i == 1 && n.Plans[0].Rows >= manyRows
		again = again || p.Parent == "SubPlan" && !strings.Contains(plan, "hashed "+p.Subplan)
		if s := p.scans(); again && s != "" {
			return s
		}
		if s := p.quadratic(plan); s != "" {
			return s
		}
	}
	return ""
}

// Every statement of verify reads its tables a fixed number of times, however many refunds there are.
func TestNoCheckOfVerifyIsQuadratic(t *testing.T) {
	t.Parallel()
	f := newDamageFixture(t)
	if _, err := f.pool.Exec(t.Context(), multiplySQL); err != nil {
		t.Fatal(err)
	}
	if _, err := f.pool.Exec(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), f.url) // with the planner's defaults, as a Verifier has them
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), `SET search_path = refundry; SET work_mem = '64MB'; SET jit = off`); err != nil {
		t.Fatal(err)
	}
	explain := func(sql string) (planNode, string) {
		var text string
		if err := conn.QueryRow(t.Context(), `EXPLAIN (FORMAT JSON) `+strings.NewReplacer("$1", "NULL", "$2", "10").Replace(sql)).Scan(&text); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", sql, err))
		}
		var plans []struct{ Plan planNode }
		if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
			t.Fatal(err, text)
		}
		return plans[0].Plan, text
	}
	bad, text := explain(`SELECT count(*) FROM attempts a JOIN journal j ON j.at > a.started_at`)
	if bad.quadratic(text) == "" {
		t.Errorf("a join without equality is quadratic: %s", text)
	}
	for _, c := range verify.Checks() {
		plan, text := explain(c.SQL)
		if table := plan.quadratic(text); table != "" {
			t.Errorf("%s %s reads all of %s for each row of another table:\n%s", c.Promise, c.Name, table, text)
		}
	}
}
