package main

import (
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/fault"
)

// withFault gives a verb the hidden flag that makes it kill itself at a chosen place, for tests of crashes.
func withFault(cmd *cobra.Command) *cobra.Command {
	var spec string
	cmd.Flags().StringVar(&spec, "fault", "", "NAME:N = kill -9 itself at the N-th pass of a place; count = tell at the end how often each was passed")
	_ = cmd.Flags().MarkHidden("fault") // it exists: the line above
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return fault.Arm(fault.Config{Spec: spec, Out: cmd.ErrOrStderr(), Kill: func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }})
	}
	cmd.PostRun = func(cmd *cobra.Command, _ []string) {
		if passes := fault.Report(); passes != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "refundry: fault: passes %s\n", passes)
		}
	}
	return cmd
}
