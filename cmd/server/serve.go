package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/store/pg"
)

// longestDrainDelay bounds --drain-delay.
const longestDrainDelay = 5 * time.Minute

func serveCommand() *cobra.Command {
	var c common
	var file, listen string
	var roles []string
	var workers int
	var drainDelay time.Duration
	var guards guardConfig
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service on a migrated database",
		Long: `Runs the chosen roles until SIGTERM or Ctrl-C. A process with the API then serves on for --drain-delay while /readyz answers 503, so that a
load balancer can turn to other processes. Then it drains: it answers the requests that it has accepted, waits for the calls to channels
that are under way, and stores their answers; API, workers and bridges at the same time. Any number of processes can serve one database.`,
		Example: `  refundry serve --database-url postgres://refundry@localhost:5432/refundry --config refundry.yaml
  refundry serve --config refundry.yaml --roles api              # another process runs the workers
  refundry serve --config refundry.yaml --roles worker,bridge`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var app appConfig
			if err := app.parseRoles(roles); err != nil {
				return err
			}
			if err := c.needDatabase(); err != nil {
				return err
			}
			if workers < 1 || workers > 1000 {
				return errors.New("--workers: must be between 1 and 1000")
			}
			if drainDelay < 0 || drainDelay > longestDrainDelay {
				return fmt.Errorf("--drain-delay: must be between 0 and %s", longestDrainDelay)
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
			app.directURL, app.params, app.drainDelay = c.directURL, pg.Params(c.params), drainDelay
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
	cmd.Flags().StringVar(&file, "config", "", "YAML file with accounts, bridges and times (default: no accounts)")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "host:port on which the API listens; port 0 = any free port")
	cmd.Flags().StringSliceVar(&roles, "roles", []string{"api", "worker", "bridge"}, "roles of this process: api, worker, bridge")
	cmd.Flags().DurationVar(&drainDelay, "drain-delay", 5*time.Second,
		"how long the API serves on after SIGTERM while /readyz answers 503; longer than the load balancer takes to notice")
	cmd.Flags().IntVar(&workers, "workers", 32, "refund steps that run at the same time, 1 to 1000")
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
		return errors.New("--roles: at least one of api, worker, bridge is required")
	}
	return nil
}

// loadFile reads the configuration file. An empty path gives a configuration without accounts.
func loadFile(path string) (config.File, error) {
	if path == "" {
		return config.File{}, nil
	}
	return config.Load(path, configKinds())
}

// run starts the services and calls ready. When ctx ends it retires the API and drains; when the listener fails it drains at once.
func (a *app) run(ctx context.Context, ready func()) error {
	if err := a.start(ctx); err != nil {
		return errors.Join(err, a.stop()) //nolint:contextcheck // the drain has its own time after ctx has ended
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
	if a.server != nil {
		a.server.Retire()
	}
	return errors.Join(err, a.stop()) //nolint:contextcheck // the drain has its own time after ctx has ended
}
