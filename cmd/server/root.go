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

// common are the flags of every verb that works on a database.
type common struct {
	databaseURL string
	directURL   string // of PostgreSQL itself; "" = databaseURL
	params      string // a pg.Params
	schema      string
	logLevel    string
	json        bool
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "refundry",
		Short: "A refund service that pays nothing twice and loses nothing",
		Long: `refundry accepts refund requests over REST and as events, and makes each of them happen exactly once at its payment
channel. Where the outcome of a request cannot be known, it opens a case for a person.

Every flag can also be given as an environment variable: --database-url is REFUNDRY_DATABASE_URL. A duration is a number with
a unit, such as 500ms, 30s, 5m or 24h.`,
		Example: `  refundry dev                            # everything on this machine, with a simulated channel
  export REFUNDRY_DATABASE_URL=postgres://refundry@localhost:5432/refundry
  refundry migrate
  refundry serve --config refundry.yaml`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			err := bindAll(cmd)
			if cmd.Name() == "verify" { // its exit code 1 means a violation
				return unchecked(err)
			}
			return err
		},
	}
	root.AddCommand(devCommand(), serveCommand(), migrateCommand(), simulateCommand(), benchCommand(), tenantCommand(), keyCommand(), configCommand(),
		noticeCommand(), verifyCommand(), epochCommand(), exportCommand(), versionCommand())
	return root
}

// bindAll sets the flags that the command line leaves out from the environment. It refuses REFUNDRY_ variables without a flag.
func bindAll(cmd *cobra.Command) error {
	if unknown := config.Unknown(os.Environ(), knownEnv(cmd.Root())); len(unknown) > 0 {
		return fmt.Errorf("unknown environment variables: %s (is the name spelled correctly?)", strings.Join(unknown, ", "))
	}
	return bindEnv(cmd.Flags(), os.LookupEnv)
}

// knownEnv returns the environment variables of all flags of all verbs.
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

// bind adds the common flags to a verb.
func (c *common) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.databaseURL, "database-url", "", "URL of PostgreSQL: postgres://user:password@host:port/database")
	cmd.Flags().StringVar(&c.directURL, "database-url-direct", "",
		"URL of PostgreSQL without the pooler, for migrations, job notifications and verification (default: --database-url)")
	cmd.Flags().StringVar(&c.params, "database-params", string(pg.ParamsStartup),
		"how connections get their settings: startup = sent on connecting, role = from ALTER ROLE (see refundry migrate --role)")
	cmd.Flags().StringVar(&c.schema, "schema", "refundry", "schema that holds all tables")
	c.bindLog(cmd)
}

func (c *common) bindLog(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.logLevel, "log-level", "info", "lowest level that is logged: debug, info, warn or error")
	cmd.Flags().BoolVar(&c.json, "json", false, "print the result as JSON")
}

func (c *common) needDatabase() error {
	if c.databaseURL == "" {
		return fmt.Errorf("--database-url (or REFUNDRY_DATABASE_URL) is required")
	}
	if _, err := pg.ParseParams(c.params); err != nil {
		return fmt.Errorf("--database-params: %w", err)
	}
	return nil
}

// direct returns the URL for sessions that must not go through a pooler.
func (c *common) direct() string { return cmp.Or(c.directURL, c.databaseURL) }

// logger returns a logger that writes JSON lines to w. No caller logs secrets or payloads.
func (c *common) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level: %q is not one of debug, info, warn, error", c.logLevel)
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})), nil
}
