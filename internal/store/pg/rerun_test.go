package pg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

func TestRerun(t *testing.T) {
	t.Parallel()
	lost := fmt.Errorf("%w: cut", refund.ErrCommitUnknown)
	other := errors.New("other")
	for name, c := range map[string]struct {
		answers []error
		want    []error // nil = no error
	}{
		"an answered COMMIT runs once":        {[]error{nil}, nil},
		"another error runs once":             {[]error{other}, []error{other}},
		"busy at first runs once":             {[]error{refund.ErrBusy}, []error{refund.ErrBusy}},
		"one lost COMMIT":                     {[]error{lost, nil}, nil},
		"a rerun that is busy or unavailable": {[]error{lost, refund.ErrBusy, refund.ErrUnavailable, nil}, nil},
		"a rerun that fails":                  {[]error{lost, other}, []error{other}},
		"every COMMIT lost":                   {[]error{lost, lost, lost, lost}, []error{refund.ErrUnavailable, refund.ErrCommitUnknown}},
		"the database is away after a lost COMMIT": {[]error{lost, refund.ErrBusy, refund.ErrBusy, refund.ErrBusy},
			[]error{refund.ErrUnavailable, refund.ErrCommitUnknown}},
		"a lost COMMIT, then another, then settled": {[]error{lost, lost, nil}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			err := Rerun(t.Context(), slog.New(slog.DiscardHandler), "test", func() error {
				runs++
				return c.answers[runs-1]
			})
			if runs != len(c.answers) {
				t.Errorf("%d runs, want %d", runs, len(c.answers))
			}
			if (err == nil) != (len(c.want) == 0) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			for _, class := range c.want {
				if !errors.Is(err, class) {
					t.Errorf("error %v is not %v", err, class)
				}
			}
		})
	}
}

func TestRerunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	err := Rerun(ctx, slog.New(slog.DiscardHandler), "test", func() error {
		runs++
		cancel()
		return refund.ErrCommitUnknown
	})
	if runs != 1 || !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("%d runs, %v; want one run and ErrUnavailable: no pause outlives its context", runs, err)
	}
}
