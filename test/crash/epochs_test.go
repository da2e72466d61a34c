package crash

import (
	"context"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/test/e2e/harness"
)

// moved makes the installation see another database, as after a restore or a failover.
const moved = `UPDATE installation SET timeline = timeline + 7`

// epochs kills the process that notices the other database, and the command that lets it send again, at each of their
// points. The load continues: its requests are accepted and not sent.
func (s *site) epochs(y *tally) {
	s.t.Helper()
	ctx, db := s.t.Context(), s.dev.DB()
	watched := func(at fault.Name, more ...string) {
		s.dev.LaunchArmed(at.String()+":1", more...)
		if s.waitKilled(place{at.String(), 1, time.Minute}) {
			y.hit(at.String())
		}
	}
	db.Exec(ctx, moved)
	watched(fault.EpochAdoptBefore, "--failover-lossless")
	watched(fault.EpochAdoptCommitted, "--failover-lossless")
	db.Exec(ctx, moved)
	watched(fault.EpochHoldBefore)
	watched(fault.EpochHoldCommitted)
	s.dev.Start()
	harness.Eventually(s.t, time.Minute, "refunds are accepted while sending is held", func() (bool, string) {
		open := db.Int(ctx, `SELECT count(*) FROM refunds WHERE final_at IS NULL`)
		return open >= 20, "too few open ones"
	})
	for _, at := range []fault.Name{fault.EpochMarkWritten, fault.EpochMarkCommitted, fault.EpochResumeBefore, fault.EpochResumeCommitted} {
		s.expose(y, at)
	}
	s.markNew(ctx, y)
	s.dev.Kill()
	s.kills++
}

// markNew ends the time in which new refunds are marked.
func (s *site) markNew(ctx context.Context, y *tally) {
	s.t.Helper()
	s.expose(y, fault.EpochMarkNewBefore, "--mark-new-for", "0")
	s.expose(y, fault.EpochMarkNewCommitted, "--mark-new-for", "0")
	if held := s.dev.DB().Int(ctx, `SELECT count(*) FROM installation WHERE sending_held_since IS NOT NULL OR mark_new_until > clock_timestamp()`); held != 0 {
		s.t.Error("the epoch has not begun, or new refunds are still marked")
	}
}

// expose kills `refundry epoch expose` at a point.
func (s *site) expose(y *tally, at fault.Name, more ...string) {
	s.t.Helper()
	s.kills++
	args := append([]string{"epoch", "expose", "--yes", "--database-url", s.dev.Info().DatabaseURL}, more...)
	res := harness.Verb(s.t, []string{"REFUNDRY_FAULT=" + at.String() + ":1"}, args...)
	if name, _ := fault.Killed(lastLine(res.Stderr)); name == at.String() {
		y.hit(name)
		return
	}
	s.t.Errorf("refundry %s was not killed at %s: exit %d: %s", strings.Join(args[:2], " "), at, res.Exit, res.Stderr)
}
