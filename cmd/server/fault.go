package main

import (
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/fault"
)

// withFault adds the hidden flag --fault, with which crash tests kill the process at a chosen point.
func withFault(cmd *cobra.Command) *cobra.Command {
	var spec string
	cmd.Flags().StringVar(&spec, "fault", "",
		"NAME:N = kill the process at the N-th pass of a fault point; count = print at the end how often each point was passed")
	_ = cmd.Flags().MarkHidden("fault") // the flag was added above
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
