package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	httpapi "github.com/refundry/refundry/internal/http"
)

// thisBuild describes the running binary. GET /version returns the same.
func thisBuild() httpapi.Build {
	return httpapi.Build{Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the toolchain of this binary",
		Long: `Prints the version and the commit of the source, the Go version that built it, and the system that it is for. A binary that was
not built by make build has version dev and an unknown commit.`,
		Example: "  refundry version\n  refundry version --json | jq -r .commit",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if asJSON {
				return printJSON(cmd, b)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "refundry %s\ncommit   %s\ngo       %s\nsystem   %s/%s\n", b.Version, b.Commit, b.Go, b.OS, b.Arch)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}
