package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/store"
)

func epochCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "epoch", Short: "After a restore or a failover: show where the installation stands, and let it send again",
		Long: `When the database was restored or a standby took over, what was written last may be lost, and with it the knowledge of
what was sent. Requests are still taken, but nothing is sent until every open refund is marked as possibly sent: each is then asked
about at its channel, or given to a person where the channel cannot be asked.`}
	cmd.AddCommand(epochShowCommand(), epochExposeCommand())
	return cmd
}

func epochShowCommand() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use: "show", Short: "Show the epoch, where the database is, and whether sending is held", Args: cobra.NoArgs,
		Example: "  refundry epoch show --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				e, err := s.EpochState(cmd.Context())
				if err != nil {
					return err
				}
				return tellEpoch(cmd, c.json, e)
			})
		},
	}
	c.bind(cmd)
	return cmd
}

func tellEpoch(cmd *cobra.Command, asJSON bool, e store.EpochState) error {
	if asJSON {
		return printJSON(cmd, e)
	}
	where := "as agreed"
	if e.Moved {
		where = fmt.Sprintf("moved to system %s, timeline %d", e.ActualSystem, e.ActualTimeline)
	}
	return printTable(cmd, "WHAT\tIS", [][]any{
		{"installation", e.Installation},
		{"epoch", e.Epoch},
		{"database", fmt.Sprintf("system %s, timeline %d: %s", e.SystemIdentifier, e.Timeline, where)},
		{"sending held since", moment(e.HeldSince)},
		{"new refunds are marked until", moment(e.MarkNewUntil)},
		{"open refunds", e.Open},
		{"of them not marked", e.Unmarked},
	})
}

func epochExposeCommand() *cobra.Command {
	var c common
	var yes bool
	var markNew time.Duration
	cmd := &cobra.Command{
		Use: "expose", Short: "Mark every open refund as possibly sent, begin the next epoch, and send again", Args: cobra.NoArgs,
		Long: `Marks every open refund, also those taken since: all its numbers and the next one may have been used, and none is sent
again. Then sending goes on. A run that was broken off is simply started again.

Requests that the restore has lost may come again, under ids that look new. For --mark-new-for from now on, every new refund is therefore
marked, too: it waits about a minute and is asked about before it is sent, or becomes a case where the channel cannot be asked. When
sending is not held, --mark-new-for alone changes that time.`,
		Example: "  refundry epoch expose --yes\n  refundry epoch expose --yes --mark-new-for 72h\n  refundry epoch expose --mark-new-for 0 --yes    # later: nothing lost will come again",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if markNew < 0 {
				return fmt.Errorf("--mark-new-for %s: must not be negative", markNew)
			}
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				e, err := s.EpochState(cmd.Context())
				if err != nil {
					return err
				}
				again := !e.Moved && e.HeldSince == nil
				if again && !cmd.Flags().Changed("mark-new-for") {
					return errors.New("the database is where it was and sending is not held: nothing to expose (--mark-new-for changes how long new refunds are marked)")
				}
				if !yes && !confirmed(cmd, e, again) {
					return errors.New("not confirmed")
				}
				if again {
					err = s.SetMarkNew(cmd.Context(), markNew)
				} else {
					bar := newProgress(cmd.ErrOrStderr())
					_, err = s.ExposeEpoch(cmd.Context(), store.ExposeConfig{MarkNew: markNew, Progress: func(done, open int64) { bar.show("marking", done, open) }})
					bar.end()
				}
				if err != nil {
					return err
				}
				if e, err = s.EpochState(cmd.Context()); err != nil {
					return err
				}
				return tellEpoch(cmd, c.json, e)
			})
		},
	}
	c.bind(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().DurationVar(&markNew, "mark-new-for", 24*time.Hour, "how long requests that the restore has lost may come again")
	return withFault(cmd)
}

// confirmed asks on the terminal.
func confirmed(cmd *cobra.Command, e store.EpochState, again bool) bool {
	if again {
		fmt.Fprint(cmd.ErrOrStderr(), "Change how long new refunds are marked? Type yes: ")
	} else {
		fmt.Fprintf(cmd.ErrOrStderr(), "Epoch %d ends. %d open refunds are marked and asked about before anything is sent for them. Type yes: ", e.Epoch, e.Open)
	}
	line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	return strings.TrimSpace(line) == "yes"
}
