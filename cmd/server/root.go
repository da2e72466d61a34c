package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/store/pg"
)

// common are the flags that every verb with a database knows.
type common struct {
	databaseURL string
	directURL   string // of PostgreSQL itself; "" = databaseURL
	params      string // see store.Params
	schema      string
	logLevel    string
	json        bool
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "refundry",
		Short: "A refund service that pays nothing twice and loses nothing",
		Long: `refundry takes refund requests over REST and from events and makes each of them happen exactly once
at its payment channel, as far as that can be known.

Every flag can also be given as an environment variable: --database-url is REFUNDRY_DATABASE_URL.`,
		Example:       "  refundry dev                                   # everything on this machine, with a simulated channel\n  refundry migrate --database-url postgres://…   # then: refundry serve --config refundry.yaml",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			err := bindAll(cmd)
			if cmd.Name() == "verify" { // its exit code 1 says that something is broken
				return unchecked(err)
			}
			return err
		},
	}
	root.AddCommand(devCommand(), serveCommand(), migrateCommand(), simulateCommand(), benchCommand(), tenantCommand(), keyCommand(), configCommand(),
		verifyCommand(), epochCommand(), exportCommand(), versionCommand())
	return root
}

// bindAll gives flags that were left out their values from the environment.
func bindAll(cmd *cobra.Command) error {
	if unknown := config.Unknown(os.Environ(), knownEnv(cmd.Root())); len(unknown) > 0 {
		return fmt.Errorf("unknown environment variables: %s (a typing error?)", strings.Join(unknown, ", "))
	}
	return bindEnv(cmd.Flags(), os.LookupEnv)
}

// knownEnv are the variables that stand for some flag of some verb.
func knownEnv(root *cobra.Command) map[string]bool {
	known := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[config.EnvName(f.Name)] = true })
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return known
}

// bind adds the flags of verbs that work on a database.
func (c *common) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.databaseURL, "database-url", "", "PostgreSQL, postgres://user:password@host:port/database")
	cmd.Flags().StringVar(&c.directURL, "database-url-direct", "", "PostgreSQL without the pooler, for what needs sessions: migrations, job notifications, verification (default: --database-url)")
	cmd.Flags().StringVar(&c.params, "database-params", string(pg.ParamsStartup), "where connections have their settings from: startup (sent to the server), "+
		"role (ALTER ROLE, see refundry migrate --role; for poolers in transaction mode)")
	cmd.Flags().StringVar(&c.schema, "schema", "refundry", "schema that holds everything")
	c.bindLog(cmd)
}

func (c *common) bindLog(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
	cmd.Flags().BoolVar(&c.json, "json", false, "print data as JSON")
}

func (c *common) needDatabase() error {
	if c.databaseURL == "" {
		return fmt.Errorf("--database-url (or REFUNDRY_DATABASE_URL) is needed")
	}
	if _, err := pg.ParseParams(c.params); err != nil {
		return fmt.Errorf("--database-params: %w", err)
	}
	return nil
}

// direct is the URL for sessions that must not go through a pooler.
func (c *common) direct() string { return cmp.Or(c.directURL, c.databaseURL) }

// logger writes JSON lines to w. Secrets and payloads are never given to it.
func (c *common) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level: %q is not one of debug, info, warn, error", c.logLevel)
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})), nil
}
