package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// callLog records the calls of the services, in order.
type callLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *callLog) write(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

// scripted is a service whose methods the test defines.
type scripted struct {
	name  string
	calls *callLog
	start error
	stop  func(ctx context.Context) error
}

func (s *scripted) Start(context.Context) error {
	s.calls.write("start " + s.name)
	return s.start
}

func (s *scripted) Stop(ctx context.Context) error {
	var err error
	if s.stop != nil {
		err = s.stop(ctx)
	}
	s.calls.write("stop " + s.name)
	return err
}

func (s *scripted) with(budget time.Duration) member { return member{s.name, budget, s} }

func TestGroupsStopInReverseOrder(t *testing.T) {
	t.Parallel()
	d := &callLog{}
	var s services
	s.group((&scripted{name: "base", calls: d}).with(time.Minute))
	s.group((&scripted{name: "middle", calls: d}).with(time.Minute))
	s.group((&scripted{name: "top", calls: d}).with(time.Minute))
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.stop(); err != nil { // nothing is running
		t.Fatal(err)
	}
	want := []string{"start base", "start middle", "start top", "stop top", "stop middle", "stop base"}
	if !slices.Equal(d.lines, want) {
		t.Errorf("%v, want %v", d.lines, want)
	}
}

// TestSlowMemberLeavesTheOthersTheirTime stops a group in which one member uses up its budget. The members stop at the same
// time, and those of the group before have a budget of their own.
func TestSlowMemberLeavesTheOthersTheirTime(t *testing.T) {
	t.Parallel()
	d := &callLog{}
	left := make(chan time.Duration, 1)
	budget := func(ctx context.Context) error {
		end, _ := ctx.Deadline()
		left <- time.Until(end)
		return nil
	}
	quickStopped := make(chan struct{})
	slow := func(ctx context.Context) error {
		<-quickStopped // at the same time: one after the other would never end
		<-ctx.Done()
		return ctx.Err()
	}
	var s services
	s.group((&scripted{name: "below", calls: d, stop: budget}).with(time.Hour))
	s.group((&scripted{name: "slow", calls: d, stop: slow}).with(50*time.Millisecond),
		(&scripted{name: "quick", calls: d, stop: func(context.Context) error { close(quickStopped); return nil }}).with(time.Hour))
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.stop(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop says %v, want that the slow one was cut off", err)
	}
	if got := <-left; got < 59*time.Minute {
		t.Errorf("the service below had %s left, want its whole hour", got)
	}
}

// TestFailedStartStopsWhatRuns stops exactly the services that were started before the one that failed.
func TestFailedStartStopsWhatRuns(t *testing.T) {
	t.Parallel()
	d := &callLog{}
	broken := errors.New("the address is in use")
	var s services
	s.group((&scripted{name: "base", calls: d}).with(time.Minute))
	s.group((&scripted{name: "listener", calls: d, start: broken}).with(time.Minute), (&scripted{name: "worker", calls: d}).with(time.Minute))
	if err := s.start(t.Context()); !errors.Is(err, broken) {
		t.Fatalf("start says %v, want %v", err, broken)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"start base", "start listener", "stop base"}; !slices.Equal(d.lines, want) {
		t.Errorf("%v, want %v: no worker runs where the address is taken", d.lines, want)
	}
}

func TestLoopEndsWithStop(t *testing.T) {
	t.Parallel()
	l := newLoop(func(ctx context.Context) { <-ctx.Done() })
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	release := make(chan struct{})
	stuck := newLoop(func(context.Context) { <-release })
	if err := stuck.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stuck.Stop(over); !errors.Is(err, context.Canceled) {
		t.Errorf("stop says %v, want that the loop is still running", err)
	}
	close(release)
	<-stuck.ended
}
