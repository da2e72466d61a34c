package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/pg"
)

func migrateCommand() *cobra.Command {
	var c common
	var installation, role string
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to this version",
		Long: "Applies what is missing and nothing else. Safe to run again and from several replicas at once; a schema newer than this binary is left alone.\n\n" +
			"With --role nothing is applied: the database role gets the settings that connections through a pooler in transaction mode need, see --database-params.",
		Example: "  refundry migrate --database-url postgres://refundry@db/refundry\n  refundry migrate --installation-id UUID    # after a total loss: keeps the numbers that channels know\n" +
			"  refundry migrate --role refundry --print       # the ALTER ROLE statements, for somebody who may",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.needDatabase(); err != nil {
				return err
			}
			if role != "" {
				return c.setRole(cmd, role, printOnly)
			}
			if printOnly {
				return errors.New("--print: only together with --role")
			}
			log, err := c.logger(os.Stderr)
			if err != nil {
				return err
			}
			res, err := migrate.Up(cmd.Context(), migrate.Config{URL: c.direct(), Schema: c.schema, InstallationID: installation, Logger: log})
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
	cmd.Flags().StringVar(&role, "role", "", "give this database role the settings of the service, and apply nothing")
	cmd.Flags().BoolVar(&printOnly, "print", false, "with --role: print the statements, change nothing")
	return withFault(cmd)
}

// setRole gives a role the settings of the hot path, or prints the statements that do.
func (c *common) setRole(cmd *cobra.Command, role string, printOnly bool) error {
	if !printOnly {
		database, err := pg.SetRole(cmd.Context(), c.direct(), role, c.schema)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "role %s has its settings in database %s, for connections that begin from now on\n", role, database)
		return nil
	}
	statements, err := pg.RoleStatements(c.direct(), role, c.schema)
	for _, s := range statements {
		fmt.Fprintln(cmd.OutOrStdout(), s+";")
	}
	return err
}
