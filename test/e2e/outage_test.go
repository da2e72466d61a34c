package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/test/e2e/harness"
)

const (
	outageDeadline = 6 * time.Second // after which a refund has a case
	outageEach     = 2               // refunds of each profile and each kind of lost answer
)

// TestAnOutageLongerThanTheDeadline: the channel is away for longer than the deadline, all its notices are lost, and then it is
// healthy again. What the contract allows ends without a person: at every channel that can be asked, or whose keys return the
// present state. No refund is paid twice.
func TestAnOutageLongerThanTheDeadline(t *testing.T) {
	ctx := bounded(t, 4*time.Minute)
	dev := harness.StartDev(t, "--open-case-after", outageDeadline.String())
	client, db, sim := dev.Client(), dev.DB(), dev.Sim()
	away := []harness.Rule{{Fault: "notice-lost", Op: "notice"}, {Fault: "lost-before", Op: "query"}, {Fault: "lost-before", Op: "list"}}
	var refunds []harness.Request
	for _, profile := range plain.Kind.Profiles() {
		for _, lost := range []string{"lost-after", "lost-before"} {
			for i := range outageEach {
				r := on(accountOf(profile), request(name(profile+"-"+lost, i), 100, 1000))
				refunds = append(refunds, r)
				away = append(away, harness.Rule{Fault: lost, Op: "send", RefundID: r.RefundID})
			}
		}
	}
	sim.SetRules(ctx, away...)
	for _, r := range refunds {
		client.Accept(ctx, r)
	}
	harness.Eventually(t, time.Minute, "every refund has a case", func() (bool, string) {
		return db.Int(ctx, `SELECT count(*) FROM refunds WHERE case_id IS NOT NULL`) == int64(len(refunds)), openByAccount(ctx, db)
	})
	sim.SetRules(ctx, harness.Rule{Fault: "notice-lost", Op: "notice"})

	byPerson := map[string]bool{plain.NoticeOnly: true, plain.Blind: true}
	want := int64(len(byPerson) * 2 * outageEach)
	harness.Eventually(t, 2*time.Minute, "the others end by themselves", func() (bool, string) {
		return db.Int(ctx, `SELECT count(*) FROM refunds WHERE final_at IS NULL`) == want, openByAccount(ctx, db)
	})
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "profile\tanswer\tended by itself\tby a person\teffects")
	for _, profile := range plain.Kind.Profiles() {
		for _, lost := range []string{"lost-after", "lost-before"} {
			of := name(profile+"-"+lost, 0)
			of = of[:len(of)-4]
			ended := db.Int(ctx, `SELECT count(*) FROM refunds WHERE starts_with(refund_id, $1) AND state = 'SUCCESS' AND case_id IS NULL`, of)
			waiting := db.Int(ctx, `SELECT count(*) FROM refunds WHERE starts_with(refund_id, $1) AND case_id IS NOT NULL`, of)
			effects := 0
			for _, e := range sim.Effects(ctx) {
				if strings.HasPrefix(e.RefundID, of) {
					effects++
				}
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\n", profile, lost, ended, waiting, effects)
			if person := byPerson[profile]; (person && waiting != outageEach) || (!person && (ended != outageEach || effects != outageEach)) || effects > outageEach {
				t.Errorf("%s, %s: %d ended by themselves, %d wait for a person, %d effects", profile, lost, ended, waiting, effects)
			}
		}
	}
	_ = w.Flush()
	t.Log("\n" + table.String())
	db.CheckPromises(ctx)
	harness.Verify(t, dev.Info().DatabaseURL)
}

// openByAccount says how many refunds of each account are open, in which state.
func openByAccount(ctx context.Context, db *harness.DB) string {
	return db.Text(ctx, `SELECT string_agg(x.what, ', ') FROM (SELECT account || ' ' || state || ' ' || count(*) || ', cases ' || count(case_id) AS what
		FROM refunds WHERE final_at IS NULL GROUP BY account, state ORDER BY 1) x`)
}
