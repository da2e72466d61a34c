package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/pg"
)

func epochCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "epoch", Short: "Show the state after a restore or failover of the database, and resume sending",
		Long: `After a restore or a failover the last commits may be lost, and with them the record of what was sent. The service still
accepts requests, but sends nothing until every open refund is marked as possibly sent. Each of them is then queried at its
channel before anything is sent; where the channel cannot be queried, a case is opened.

The service finds out about a restore or a failover by itself in most cases (docs/verify.md). Where it cannot, say so:
refundry epoch expose --restored.`,
		Example: `  refundry epoch show
  refundry epoch hold                              # nothing is sent until epoch expose
  refundry epoch expose --yes                      # after a restore or a failover that was found out
  refundry epoch expose --yes --restored           # after one that was not`}
	cmd.AddCommand(epochShowCommand(), epochHoldCommand(), epochExposeCommand())
	return cmd
}

func epochShowCommand() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use: "show", Short: "Show the epoch, the identity of the database, and whether sending is held", Args: cobra.NoArgs,
		Example: "  refundry epoch show\n  refundry epoch show --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				e, err := s.EpochState(cmd.Context())
				if err != nil {
					return err
				}
				return printEpoch(cmd, c.json, e)
			})
		},
	}
	c.bind(cmd)
	return cmd
}

func printEpoch(cmd *cobra.Command, asJSON bool, e store.EpochState) error {
	if asJSON {
		return printJSON(cmd, e)
	}
	where := "unchanged"
	if e.Moved {
		names := make([]string, len(e.Signs))
		for i, sign := range e.Signs {
			names[i] = string(sign)
		}
		where = fmt.Sprintf("restored or moved (%s): now system %s, timeline %d, database %d, table %d", strings.Join(names, ", "), e.ActualSystem,
			e.ActualTimeline, e.ActualDatabaseOID, e.ActualTableOID)
	}
	return printTable(cmd, "WHAT\tIS", [][]any{
		{"installation", e.Installation},
		{"epoch", e.Epoch},
		{"database", fmt.Sprintf("system %s, timeline %d, database %d, table %d: %s", e.SystemIdentifier, e.Timeline, e.DatabaseOID, e.TableOID, where)},
		{"agreed at", moment(e.AgreedAt)},
		{"sending held since", moment(e.HeldSince)},
		{"sending held because of", e.HeldBecause},
		{"new refunds are marked until", moment(e.MarkNewUntil)},
		{"open refunds", e.Open},
		{"of them not marked", e.Unmarked},
	})
}

func epochHoldCommand() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use: "hold", Short: "Send nothing until epoch expose, whatever the database shows", Args: cobra.NoArgs,
		Long: `Holds all sending at once, in every process. Requests are still accepted. Use it before a restore, or when a restore or a
failover is suspected that the service has not found out about by itself. Only refundry epoch expose ends it. The command can be
repeated.`,
		Example: "  refundry epoch hold\n  refundry epoch hold --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				if _, err := s.HoldSending(cmd.Context(), pg.SignOperator); err != nil {
					return err
				}
				e, err := s.EpochState(cmd.Context())
				if err != nil {
					return err
				}
				return printEpoch(cmd, c.json, e)
			})
		},
	}
	c.bind(cmd)
	return withFault(cmd)
}

// exposeFlags are the flags of epoch expose.
type exposeFlags struct {
	common
	yes, restored bool
	markNew       time.Duration
}

func epochExposeCommand() *cobra.Command {
	var f exposeFlags
	cmd := &cobra.Command{
		Use: "expose", Short: "Mark every open refund as possibly sent, begin the next epoch, and send again", Args: cobra.NoArgs,
		Long: `Marks every open refund, including those accepted since the restore, as possibly sent: any of its numbers, and the next one,
may have been used, and none of them is sent again. Then the next epoch begins and sending resumes. After an interruption, run
the command again.

With --restored it does so also when sending is not held and the database shows no sign of a restore: for one that nothing can
show, such as a disk snapshot that was put back while no process lived and no anchor file exists.

Callers may repeat requests that the restore lost, and these look new. Every new refund is therefore marked as well, for
--mark-new-for from now on: it waits about a minute and is queried before it is sent; where the channel cannot be queried, a
case is opened. While the database is unchanged and sending is not held, the command without --restored only sets
--mark-new-for.`,
		Example: `  refundry epoch expose --yes
  refundry epoch expose --yes --restored           # declares a restore that was not found out
  refundry epoch expose --yes --mark-new-for 72h
  refundry epoch expose --yes --mark-new-for 0s    # later, when no caller repeats a lost request any more`,
		RunE: f.run,
	}
	f.bind(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask for a confirmation")
	cmd.Flags().BoolVar(&f.restored, "restored", false, "the database was restored, or has lost commits in a failover, whatever it shows")
	cmd.Flags().DurationVar(&f.markNew, "mark-new-for", 24*time.Hour,
		"how long new refunds are marked, because callers may repeat requests that the restore lost; 0s = not at all")
	return withFault(cmd)
}

func (f *exposeFlags) run(cmd *cobra.Command, _ []string) error {
	if f.markNew < 0 {
		return fmt.Errorf("--mark-new-for %s: must not be negative", f.markNew)
	}
	return f.withStore(cmd.Context(), func(s *store.Store) error {
		e, err := s.EpochState(cmd.Context())
		if err != nil {
			return err
		}
		onlyMarking := !e.Moved && e.HeldSince == nil && !f.restored // the epoch goes on
		if onlyMarking && !cmd.Flags().Changed("mark-new-for") {
			return errors.New("the database is unchanged and sending is not held: there is nothing to expose. If the database was restored all the same, " +
				"say so with --restored (--mark-new-for changes how long new refunds are marked)")
		}
		if !f.yes && !confirmed(cmd, e, onlyMarking) {
			return errors.New("not confirmed")
		}
		if onlyMarking {
			err = s.SetMarkNew(cmd.Context(), f.markNew)
		} else {
			bar := newProgress(cmd.ErrOrStderr())
			_, err = s.ExposeEpoch(cmd.Context(), store.ExposeConfig{MarkNew: f.markNew,
				Progress: func(done, open int64) { bar.show("marking", done, open) }})
			bar.end()
		}
		if err != nil {
			return err
		}
		if e, err = s.EpochState(cmd.Context()); err != nil {
			return err
		}
		return printEpoch(cmd, f.json, e)
	})
}

// confirmed asks for a confirmation and reports whether the answer is yes.
func confirmed(cmd *cobra.Command, e store.EpochState, onlyMarking bool) bool {
	if onlyMarking {
		fmt.Fprint(cmd.ErrOrStderr(), "Change how long new refunds are marked? Type yes: ")
	} else {
		fmt.Fprintf(cmd.ErrOrStderr(), "Epoch %d ends. %d open refunds are marked, and queried before anything is sent for them. Type yes: ", e.Epoch, e.Open)
	}
	line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	return strings.TrimSpace(line) == "yes"
}
