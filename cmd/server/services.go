package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Service is one long-lived part of the process. It is started and stopped at most once.
type Service interface {
	// Start starts the work and returns. ctx bounds the start only. After an error nothing of the service runs.
	Start(ctx context.Context) error
	// Stop ends the work and returns when nothing of the service runs any more. When ctx ends first, the remaining work is cut off.
	Stop(ctx context.Context) error
}

// member is a service of a group.
type member struct {
	name   string
	budget time.Duration // for the stop of this service alone
	Service
}

// services are the long-lived parts of a process, in groups. A group can rely on the groups before it.
type services struct {
	groups  [][]member
	running [][]member // started and not stopped, by group
}

// group adds a group behind the others.
func (s *services) group(members ...member) { s.groups = append(s.groups, members) }

// start starts the groups in order, and the members of a group one after the other. It returns at the first error; members that were
// started run until stop.
func (s *services) start(ctx context.Context) error {
	for _, group := range s.groups {
		s.running = append(s.running, nil)
		current := &s.running[len(s.running)-1]
		for _, m := range group {
			if err := m.Start(ctx); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			*current = append(*current, m)
		}
	}
	return nil
}

// stop stops the running members: the groups in reverse order, the members of a group at the same time. The budget of each member
// begins with the stop of its group.
func (s *services) stop() error {
	var errs []error
	for _, group := range slices.Backward(s.running) {
		stopped := make([]error, len(group))
		var all sync.WaitGroup
		for i, m := range group {
			all.Go(func() { stopped[i] = m.end() })
		}
		all.Wait()
		errs = append(errs, stopped...)
	}
	s.running = nil
	return errors.Join(errs...)
}

// end stops one member within its budget.
func (m member) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), m.budget)
	defer cancel()
	if err := m.Stop(ctx); err != nil {
		return fmt.Errorf("stopping %s: %w", m.name, err)
	}
	return nil
}

// loop is a Service whose work runs in one goroutine until Stop cancels its context. Stop waits until work has returned, at most until its
// own context ends.
type loop struct {
	work   func(ctx context.Context) // returns soon after ctx has ended
	cancel context.CancelFunc
	ended  chan struct{}
}

func newLoop(work func(ctx context.Context)) *loop {
	return &loop{work: work, ended: make(chan struct{})}
}

// Start implements Service.
func (l *loop) Start(ctx context.Context) error {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	go func() {
		defer close(l.ended)
		l.work(run)
	}()
	return nil
}

// Stop implements Service.
func (l *loop) Stop(ctx context.Context) error {
	l.cancel()
	select {
	case <-l.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("still running: %w", ctx.Err())
	}
}

// stopOnly is a Service that runs since it was created, and only has to be stopped. Its stop is not cut off by a context.
type stopOnly struct{ stop func() }

// Start implements Service.
func (stopOnly) Start(context.Context) error { return nil }

// Stop implements Service.
func (s stopOnly) Stop(context.Context) error {
	s.stop()
	return nil
}
