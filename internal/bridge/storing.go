package bridge

import (
	"time"
)

// storing decides groups until fetching has ended and every fetched group was tried. It keeps the messages that stay open and tries
// them again together with later ones; those that are open at the end are not stored and go back to the broker. Errors: errGivenBack,
// if fetching has ended and the database is unavailable.
func (r *run) storing() error {
	var open []*item // busy or failed
	for {
		due, wait := split(open, r.b.cfg.Clock())
		group, more := r.next(open, due, wait)
		if !more {
			return nil
		}
		err := r.b.store(r.ctx, group)
		for tries := 1; err != nil; tries++ { // the database is unavailable: hold the group, fetch no other
			if group = r.deliver(group); !r.waitForDatabase(r.b.backoff(tries), len(group), err) {
				return errGivenBack
			}
			err = r.b.store(r.ctx, group)
		}
		open = merge(open, r.deliver(group))
	}
}

// waitForDatabase pauses before the next try of a group. false = fetching or the run has ended: the group is not tried again and goes
// back to the broker.
func (r *run) waitForDatabase(d time.Duration, held int, err error) bool {
	r.b.log.Warn("database unavailable, holding messages", "messages", held, "again", d, "error", err.Error())
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.ending:
	case <-r.ctx.Done():
	}
	return false
}

// next waits for the next group: newly fetched messages, the open ones that are due, or both. With MaxBatch or more open messages it
// takes no new ones. false = fetching or the run has ended, and no fetched group is left; open messages are not waited for.
func (r *run) next(open, due []*item, wait time.Duration) ([]*item, bool) {
	fetched := r.fetched
	if len(open) >= r.b.cfg.MaxBatch {
		fetched = nil
	}
	var again <-chan time.Time
	if len(open) > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		again = t.C
	}
	select {
	case group, ok := <-fetched:
		return append(due, group...), ok
	case <-again:
		return due, true
	case <-r.ending: // the last fetched group was taken before
	case <-r.ctx.Done():
	}
	return nil, false
}

// deliver passes the stored messages of a group on to be acknowledged and returns the others.
func (r *run) deliver(group []*item) (open []*item) {
	var done []*item
	for _, it := range group {
		if it.done {
			done = append(done, it)
		} else {
			open = append(open, it)
		}
	}
	if len(done) > 0 {
		select {
		case r.stored <- done:
		case <-r.ctx.Done():
		}
	}
	return open
}

// split returns the open items that are due, and the time until the first of the others is.
func split(open []*item, now time.Time) (due []*item, wait time.Duration) {
	wait = time.Hour
	for _, it := range open {
		left := it.retryAt.Sub(now)
		if left <= 0 {
			due = append(due, it)
		}
		wait = min(wait, max(left, 0))
	}
	return due, wait
}

// merge returns the open items after a group was tried: its own, and those that were not part of it.
func merge(open, rest []*item) []*item {
	in := map[*item]bool{}
	var out []*item
	for _, it := range append(rest, open...) {
		if !in[it] && !it.done {
			in[it] = true
			out = append(out, it)
		}
	}
	return out
}
