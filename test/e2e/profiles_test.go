package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/test/e2e/harness"
)

// The faults of the worst day of a channel: every way to lose, delay or contradict an answer, at once.
const (
	worstAnswers = "lost-after=0.12,lost-before=0.08,error-after=0.08,error-before=0.05,rate-limited=0.06,low-balance=0.05,refused=0.05,echo=0.05,slow=0.01"
	worstResults = "pending=0.2,pending-failed=0.05,hidden=0.25,late-failure=0.06,wrong-amount=0.02,incomplete-list=0.3"
	worstNotices = "notice-late=0.2,notice-lost=0.25,notice-twice=0.3,notice-forged=0.2"
)

const refundsEach = 300

// TestProfilesUnderFaults checks that every refund becomes final or gets a case, and that none is paid twice, for every
// profile and whatever answers are lost.
func TestProfilesUnderFaults(t *testing.T) {
	ctx := bounded(t, 8*time.Minute)
	dev := harness.StartDev(t, "--faults", strings.Join([]string{worstAnswers, worstResults, worstNotices, "seed=11"}, ","), "--open-case-after", "30s")
	client := dev.Client()

	work := make(chan harness.Request)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for r := range work {
				if res, ok := client.Post(ctx, "key-"+r.RefundID, r); !ok || res.Status != 202 {
					t.Errorf("%s: status %d: %s", r.RefundID, res.Status, res.Body)
				}
			}
		})
	}
	for i := range refundsEach {
		for _, profile := range plain.Kind.Profiles() {
			// Three refunds of the same amount have one payment, so that a line of a list can be mistaken for another one.
			r := partial(name(profile, i), fmt.Sprintf("pay-%s-%d", profile, i/3), 100, 1000)
			r.Payment.ChannelAccount = accountOf(profile)
			if !hand(ctx, work, r) {
				t.Fatal("the producers make no progress")
			}
		}
	}
	close(work)
	wg.Wait()

	db := dev.DB()
	const settled = `SELECT count(*) FROM refunds WHERE final_at IS NOT NULL OR case_id IS NOT NULL`
	total := int64(refundsEach * len(plain.Kind.Profiles()))
	harness.Eventually(t, 5*time.Minute, "every refund is final or in a case", func() (bool, string) {
		return db.Int(ctx, settled) == total, db.Text(ctx, `SELECT string_agg(x.what, ', ') FROM (SELECT account || ' ' || state || ' ' || count(*) AS what
			FROM refunds WHERE final_at IS NULL AND case_id IS NULL GROUP BY account, state ORDER BY 1) x`)
	})
	if forged := db.Int(ctx, `SELECT count(*) FROM notices WHERE fact = '{}'`); forged != 0 {
		t.Errorf("%d unreadable notices are kept: forged ones must leave nothing", forged)
	}
	if n := db.Int(ctx, `SELECT count(*) FROM journal WHERE source = 'notice'`); n == 0 {
		t.Error("no notice has changed a refund")
	}
	judge(ctx, t, dev)
	db.CheckPromises(ctx)
	harness.Verify(t, dev.Info().DatabaseURL)
}

func accountOf(profile string) string {
	if profile == plain.KeyedQueryable {
		return "demo"
	}
	return "demo-" + profile
}

// judge compares our states with the effects at the channel, and prints the table.
func judge(ctx context.Context, t *testing.T, dev *harness.Dev) {
	t.Helper()
	db := dev.DB()
	known := states(ctx, db) // before the effects: a refund with a case of waiting may be sent meanwhile
	moved, standing := map[string]int{}, map[string]int{}
	byAccount := map[string]int{}
	for _, e := range dev.Sim().Effects(ctx) {
		moved[e.RefundID]++
		byAccount[e.Account]++
		if e.Status == "succeeded" {
			standing[e.RefundID]++
		}
	}
	for id, n := range moved {
		if n > 1 {
			t.Errorf("%s: the channel moved money %d times", id, n)
		}
	}
	for id, state := range known {
		switch {
		case state == "SUCCESS" && moved[id] != 1:
			t.Errorf("%s is SUCCESS, the channel made %d effects", id, moved[id])
		case state == "REVERSED" && (moved[id] != 1 || standing[id] != 0):
			t.Errorf("%s is REVERSED, the channel made %d effects of which %d stand", id, moved[id], standing[id])
		case (state == "FAILED" || state == "CANCELED") && standing[id] != 0:
			t.Errorf("%s is %s without a case, and the money has moved at the channel", id, state)
		}
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "profile\tSUCCESS\tFAILED\tREVERSED\tcases\tsends\tquestions\tnotices\teffects")
	for _, profile := range plain.Kind.Profiles() {
		a := accountOf(profile)
		count := func(sql string) int64 { return db.Int(ctx, sql, a) }
		state := func(s string) int64 {
			return db.Int(ctx, `SELECT count(*) FROM refunds WHERE account = $1 AND state = $2`, a, s)
		}
		calls := `SELECT count(*) FROM attempts JOIN refunds USING (tenant_id, rid) WHERE account = $1 AND kind `
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", profile, state("SUCCESS"), state("FAILED"), state("REVERSED"),
			count(`SELECT count(*) FROM refunds WHERE account = $1 AND case_id IS NOT NULL`), count(calls+`= 'SEND'`), count(calls+`<> 'SEND'`),
			count(`SELECT sum(times_seen) FROM notices WHERE account = $1`), byAccount[a])
	}
	_ = w.Flush()
	t.Log("\n" + table.String())
}

// states returns the state of every refund without a case.
func states(ctx context.Context, db *harness.DB) map[string]string {
	out := map[string]string{}
	for line := range strings.SplitSeq(db.Text(ctx, `SELECT string_agg(refund_id || ' ' || state, ',') FROM refunds WHERE case_id IS NULL`), ",") {
		id, state, _ := strings.Cut(line, " ")
		out[id] = state
	}
	return out
}
