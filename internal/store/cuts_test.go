package store

import (
	"errors"
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// cutsWanted is how many COMMITs are cut; 0 = every kind with every pattern once.
var cutsWanted = flag.Int("cuts", 0, "how many COMMITs TestEveryCommitMayBeCut cuts; 0 = each kind and pattern once")

// cutRun is a database of its own with a store whose connections can be cut.
type cutRun struct {
	*testDecisions
	t      *testing.T
	cut    *Store
	cutter *wireCutter
	door   *intake.Door
	n      int
}

// cutKind is one kind of transaction. prepare sets a refund up and returns the operation to cut; done checks afterwards.
type cutKind struct {
	name    string
	alone   string // the statement that commits by itself; "" = a transaction with COMMIT
	skip    int    // COMMITs before the one that is meant
	once    bool   // the caller does not repeat it; the database must be right either way
	prepare func(l *cutRun, id string) (op func() error, done func())
}

// cutPatterns are one cut, and cuts of the reruns too.
var cutPatterns = [][]cut{{cutBefore}, {cutAfter}, {cutBefore, cutAfter}, {cutAfter, cutBefore}, {cutAfter, cutAfter}}

// parallelCutRuns run at the same time.
const parallelCutRuns = 3

// TestEveryCommitMayBeCut cuts the connection before and after the COMMIT of every kind of transaction, and again at the rerun. Callers
// repeat as they do in the program. Afterwards the result is that of an uncut run, and no promise is broken.
func TestEveryCommitMayBeCut(t *testing.T) {
	began := time.Now()
	var made atomic.Int64
	t.Run("lanes", func(t *testing.T) {
		for i := range parallelCutRuns {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				l := newCutRun(t)
				for round := 0; round == 0 || int(made.Load()) < *cutsWanted; round++ {
					for at, k := range cutKinds {
						if *cutsWanted == 0 && at%parallelCutRuns != i {
							continue
						}
						for _, p := range cutPatterns {
							if k.once && len(p) > 1 {
								continue
							}
							made.Add(l.one(k, p))
						}
					}
					l.wantConsistent(t)
					if t.Failed() {
						return
					}
				}
				made.Add(l.epochs())
				l.wantConsistent(t)
			})
		}
	})
	t.Logf("%d COMMITs cut in %s: %d kinds of transactions, before and after, and at the repeat", made.Load(), time.Since(began).Round(time.Second),
		len(cutKinds)+1)
}

func newCutRun(t *testing.T) *cutRun {
	t.Helper()
	c := newDecisions(t, func(c *refund.Contract) {
		c.Query = refund.QueryTerms{Exists: true, Readings: 1}
		c.Codes.LateFailure = true
		c.Waits.Unknown = refund.Duration(time.Hour)
	})
	w, url := newWireCutter(t, c.url)
	l := &cutRun{testDecisions: c, t: t, cut: c.openSecond(t, url), cutter: w}
	l.door = intake.NewDoor(intake.DoorConfig{Accepter: l.cut, NewRID: pg.NewRID})
	t.Cleanup(l.door.Stop)
	return l
}

// one prepares, cuts, repeats and checks. It returns how many cuts were made.
func (l *cutRun) one(k cutKind, pattern []cut) int64 {
	l.t.Helper()
	l.n++
	id := fmt.Sprintf("c%d", l.n)
	op, done := k.prepare(l, id)
	before := l.cutter.cuts()
	if k.alone != "" {
		l.cutter.armAt(k.alone, pattern...)
	} else {
		l.cutter.arm(append(make([]cut, k.skip), pattern...)...)
	}
	err := op()
	for try := 0; !k.once && transient(err) && try < 10; try++ {
		err = op()
	}
	if err != nil && !(k.once && transient(err)) {
		l.t.Errorf("%s, cut %v: %v", k.name, pattern, err)
	}
	l.cutter.disarm() // who finds its own work done has nothing to commit, and no second cut
	if l.cutter.cuts() == before {
		l.t.Fatalf("%s: nothing was cut: the kind does not commit as is said of it", k.name)
	}
	done()
	if l.t.Failed() {
		l.t.Fatalf("in %s, cut %v", k.name, pattern)
	}
	return int64(l.cutter.cuts() - before)
}

// transient reports the errors after which callers repeat.
func transient(err error) bool {
	return errors.Is(err, refund.ErrUnavailable) || errors.Is(err, refund.ErrCommitUnknown) || errors.Is(err, refund.ErrBusy)
}

// epochs marks everything that is open after a restore, with every other COMMIT cut.
func (l *cutRun) epochs() int64 {
	l.t.Helper()
	const open = 10
	l.refunds(l.t, "epoch", open)
	l.elsewhere(l.t)
	before := l.cutter.cuts()
	for range open / 2 {
		l.cutter.arm(cutBefore, uncut, cutAfter)
	}
	err := errors.New("not begun")
	for try := 0; err != nil && try < 4*open; try++ {
		_, err = l.cut.ExposeEpoch(l.t.Context(), ExposeConfig{Workers: 1})
		if err != nil && !transient(err) {
			l.t.Fatal(err)
		}
	}
	if n := l.count(l.t, `SELECT count(*) FROM refunds WHERE refund_id LIKE 'epoch%' AND (state <> 'UNKNOWN' OR NOT exposed)`); err != nil || n != 0 {
		l.t.Errorf("%v; %d open refunds are not marked", err, n)
	}
	return int64(l.cutter.cuts() - before)
}
