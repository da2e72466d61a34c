package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/store/pg"
)

func serveCommand() *cobra.Command {
	var c common
	var file, listen string
	var roles []string
	var workers int
	var guards guardConfig
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service on a migrated database",
		Long: `Runs the chosen roles until SIGTERM or Ctrl-C, then drains: requests under way are answered, calls to channels
end and their answers are stored. Any number of processes may serve one database.`,
		Example: "  refundry serve --database-url postgres://… --config refundry.yaml\n  refundry serve --roles api    # workers run elsewhere",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var app appConfig
			if err := app.parseRoles(roles); err != nil {
				return err
			}
			if err := c.needDatabase(); err != nil {
				return err
			}
			if workers < 1 || workers > 1000 {
				return errors.New("--workers: must lie between 1 and 1000")
			}
			log, err := c.logger(os.Stderr)
			if err != nil {
				return err
			}
			f, err := loadFile(file)
			if err != nil {
				return err
			}
			app.databaseURL, app.schema, app.listen, app.file, app.workers, app.guard, app.log = c.databaseURL, c.schema, listen, f, workers, guards, log
			app.directURL, app.params = c.directURL, pg.Params(c.params)
			a, err := newApp(cmd.Context(), app)
			if err != nil {
				return err
			}
			return a.run(cmd.Context(), func() {
				if a.server != nil {
					log.Info("ready", "api", "http://"+a.server.Addr().String(), "roles", roles, "version", version)
				} else {
					log.Info("ready", "roles", roles, "version", version)
				}
			})
		},
	}
	c.bind(cmd)
	guards.bind(cmd)
	cmd.Flags().StringVar(&file, "config", "", "YAML file with accounts, bridges and times")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "host:port of the API")
	cmd.Flags().StringSliceVar(&roles, "roles", []string{"api", "worker", "bridge"}, "what this process does: api, worker, bridge")
	cmd.Flags().IntVar(&workers, "workers", 32, "steps of refunds at once")
	return withFault(cmd)
}

func (c *appConfig) parseRoles(roles []string) error {
	for _, r := range roles {
		switch r {
		case "api":
			c.api = true
		case "worker":
			c.worker = true
		case "bridge":
			c.bridge = true
		default:
			return fmt.Errorf("--roles: %q is not one of api, worker, bridge", r)
		}
	}
	if !c.api && !c.worker && !c.bridge {
		return errors.New("--roles: at least one of api, worker, bridge")
	}
	return nil
}

// loadFile reads the configuration; no file means no accounts.
func loadFile(path string) (config.File, error) {
	if path == "" {
		return config.File{}, nil
	}
	return config.Load(path, configKinds())
}

// run works until ctx ends or the listener fails, then drains.
func (a *app) run(ctx context.Context, ready func()) error {
	if err := a.start(ctx); err != nil {
		return errors.Join(err, a.stop()) //nolint:contextcheck // a drain outlives what ended
	}
	ready()
	var err error
	if a.server != nil {
		select {
		case <-ctx.Done():
		case err = <-a.server.Done():
		}
	} else {
		<-ctx.Done()
	}
	a.log.Info("stopping")
	return errors.Join(err, a.stop()) //nolint:contextcheck // a drain outlives what ended
}
