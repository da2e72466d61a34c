package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/store"
)

func migrateCommand() *cobra.Command {
	var c common
	var installation string
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Bring the database's schema up to this version",
		Long:    "Applies what is missing and nothing else. Safe to run again and from several replicas at once; a schema newer than this binary is left alone.",
		Example: "  refundry migrate --database-url postgres://refundry@db/refundry\n  refundry migrate --installation-id UUID    # after a total loss: keeps the numbers that channels know",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.needDatabase(); err != nil {
				return err
			}
			log, err := c.logger(os.Stderr)
			if err != nil {
				return err
			}
			res, err := store.Migrate(cmd.Context(), store.MigrateConfig{URL: c.databaseURL, Schema: c.schema, InstallationID: installation, Logger: log})
			if err != nil {
				return err
			}
			if c.json {
				return printJSON(cmd, map[string]any{"applied": append([]string{}, res.Applied...), "installationId": res.InstallationID})
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d steps applied, installation %s\n", len(res.Applied), res.InstallationID)
			return nil
		},
	}
	c.bind(cmd)
	cmd.Flags().StringVar(&installation, "installation-id", "", "uuid of the installation, only after a total loss")
	return withFault(cmd)
}
