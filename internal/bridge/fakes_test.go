package bridge

import (
	"context"
	"strings"
	"sync"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// fakeDoor decides by refund id: the first intake of an id is accepted, later ones are replays.
type fakeDoor struct {
	mu     sync.Mutex
	known  map[string]int
	groups [][]string
	decide func(in intake.Intake, try int) *intake.Result // nil = the default
	fail   func() error                                   // fails the whole group
	tries  map[string]int
}

func newFakeDoor() *fakeDoor { return &fakeDoor{known: map[string]int{}, tries: map[string]int{}} }

func (d *fakeDoor) AcceptEach(_ context.Context, g []intake.Intake) ([]intake.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		if err := d.fail(); err != nil {
			return nil, err
		}
	}
	out := make([]intake.Result, len(g))
	var names []string
	for i, in := range g {
		id := in.Refund.RefundID
		names = append(names, id)
		d.tries[id]++
		if d.decide != nil {
			if r := d.decide(in, d.tries[id]); r != nil {
				out[i] = *r
				continue
			}
		}
		d.known[id]++
		out[i].Verdict = intake.Taken
		if d.known[id] > 1 {
			out[i].Verdict, out[i].Cause = intake.Replayed, intake.CauseEvent
		}
		out[i].Refund = &refund.Refund{RefundRef: refund.RefundRef{RID: refund.RID{1}}}
	}
	d.groups = append(d.groups, names)
	return out, nil
}

// fakeStore records parked positions and deliveries.
type fakeStore struct {
	mu         sync.Mutex
	parked     map[string]string // reasons by position
	tries      map[string]int
	deliveries []intake.Delivery
	away       error
	refused    string // a transaction with a body that contains it fails; "" = none does
	groups     []int  // the messages of each transaction of ParkAll
}

func newFakeStore() *fakeStore {
	return &fakeStore{parked: map[string]string{}, tries: map[string]int{}}
}

func (l *fakeStore) ParkAll(_ context.Context, rows []intake.ParkedRow) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away != nil {
		return l.away
	}
	for _, r := range rows {
		if l.refused != "" && strings.Contains(string(r.Body), l.refused) {
			return refund.ErrBadData
		}
	}
	l.groups = append(l.groups, len(rows))
	for _, r := range rows {
		l.parked[r.Position] = r.Reason
		l.tries[r.Position]++
	}
	return nil
}

func (l *fakeStore) ParkBeforeRetry(_ context.Context, _ refund.TenantID, _ intake.EventID, reason string, p intake.Park) (refund.RID, int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away != nil {
		return refund.RID{}, 0, l.away
	}
	l.parked[p.Position] = reason
	l.tries[p.Position]++
	return refund.RID{9}, l.tries[p.Position], nil
}

func (l *fakeStore) RecordDeliveries(_ context.Context, d []intake.Delivery) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deliveries = append(l.deliveries, d...)
	return nil
}

func (l *fakeStore) reasons() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for _, reason := range l.parked {
		out[reason]++
	}
	return out
}

type fakeTenants struct{}

func (fakeTenants) BridgeTenant(_ context.Context, code string) (refund.Tenant, error) {
	if code != "demo" {
		return refund.Tenant{}, refund.ErrNotFound
	}
	return refund.Tenant{ID: 7, Code: code}, nil
}

func verdict(v intake.Verdict, code refund.Code) *intake.Result {
	return &intake.Result{Outcome: intake.Outcome{Verdict: v, Code: code}}
}

func failure(err error) *intake.Result { return &intake.Result{Err: err} }
