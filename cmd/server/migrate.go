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
		Long: `Applies the migrations that are missing. It can be run again at any time, also from several replicas at once. A schema that
is newer than this binary is not changed.

With --role it applies no migration. It sets on a database role the settings that connections through a pooler in transaction
mode need (see --database-params), or prints the statements that do so.`,
		Example: `  refundry migrate --database-url postgres://refundry@localhost:5432/refundry
  refundry migrate --role refundry --print       # ALTER ROLE statements for an administrator

  # after the loss of the whole database: keeps the refund numbers at the channels; sending is held until epoch expose
  refundry migrate --installation-id 0b5c3f6e-2f43-4c07-9c6c-3d1f0a7e9b21`,
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
	cmd.Flags().StringVar(&installation, "installation-id", "", "UUID of a lost installation, to continue its refund numbers (default: a new one)")
	cmd.Flags().StringVar(&role, "role", "", "set the connection settings on this database role and apply no migration")
	cmd.Flags().BoolVar(&printOnly, "print", false, "with --role: print the SQL statements and change nothing")
	return withFault(cmd)
}

// setRole sets the connection settings of the service on a database role, or prints the statements that do so.
func (c *common) setRole(cmd *cobra.Command, role string, printOnly bool) error {
	if !printOnly {
		database, err := pg.SetRole(cmd.Context(), c.direct(), role, c.schema)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "role %s has the settings in database %s; new connections use them\n", role, database)
		return nil
	}
	statements, err := pg.RoleStatements(c.direct(), role, c.schema)
	for _, s := range statements {
		fmt.Fprintln(cmd.OutOrStdout(), s+";")
	}
	return err
}
